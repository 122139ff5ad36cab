// Nova's unified limits, which Keystone keeps. Nova 34 counts the accelerators of device profiles.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { configurationFile, keystoneUrl, textOf } from '#test/openstack/install/configuration.ts';
import { restartNova } from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { assertHas, build, flavorId, removeCleanly } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';

const limits = {
  servers: 10,
  'class:VCPU': 10,
  'class:MEMORY_MB': 10_000,
  'class:DISK_GB': 100,
  'class:FPGA': 1,
};

export const unifiedLimits: readonly Scenario[] = [
  {
    name: "Nova's unified limits count the accelerators of device profiles",
    run: async (stage) => {
      const { plan } = stage.cloud;
      if (!plan.release.servesByWaitress) return 'not in Zed';
      const file = configurationFile(plan, 'nova');
      const usual = readFileSync(file, 'utf8');
      const endpoint = await registerLimits(stage);
      try {
        await restartNova(stage, `${usual}\n${textOf(unified(stage, endpoint))}`);
        const first = await build(stage, 'fpga');
        await assertHas(stage, first, 1);
        const { status, body } = await second(stage);
        assert.equal(status, 403);
        const said = JSON.stringify(body);
        assert.match(said, /class:FPGA/);
        await removeCleanly(stage, first.id);
        return said;
      } finally {
        await restartNova(stage, usual);
      }
    },
  },
];

/** Returns the endpoint whose limits Nova reads, and lets Nova's user read them. */
async function registerLimits({ admin: { keystone }, cloud: { plan } }: Stage): Promise<string> {
  const [service] = (await keystone.ask('GET', '/services?type=compute')).body.services;
  assert.ok(service);
  const path = `/endpoints?service_id=${service.id}&interface=internal`;
  const [endpoint] = (await keystone.ask('GET', path)).body.endpoints;
  const [user] = (await keystone.ask('GET', '/users?name=nova')).body.users;
  const [reader] = (await keystone.ask('GET', '/roles?name=reader')).body.roles;
  await keystone.ask('PUT', `/system/users/${user?.id}/roles/${reader?.id}`);
  await keystone.ask('POST', '/registered_limits', {
    registered_limits: Object.entries(limits).map(([resource_name, default_limit]) => ({
      service_id: service.id,
      region_id: plan.region,
      resource_name,
      default_limit,
    })),
  });
  return endpoint?.id ?? '';
}

function unified({ cloud: { plan } }: Stage, endpoint: string) {
  return {
    quota: { driver: 'nova.quota.UnifiedLimitsDriver' },
    oslo_limit: {
      auth_url: keystoneUrl(plan),
      auth_type: 'password',
      username: 'nova',
      password: plan.password,
      user_domain_name: 'Default',
      system_scope: 'all',
      region_name: plan.region,
      endpoint_id: endpoint,
    },
  };
}

async function second(stage: Stage) {
  const { id } = (await stage.demo.glance.ask('GET', '/v2/images?name=cirros')).body.images[0];
  const flavorRef = await flavorId(stage, 'fpga');
  const server = { name: 'second', flavorRef, imageRef: id, networks: 'none' };
  return stage.demo.nova.try('POST', '/servers', { server });
}
