// Changes of others in Placement and Nova: conflicting providers, drift that a reconcile repairs,
// and aggregates.

import assert from 'node:assert/strict';
import { restartCompute } from '#test/openstack/nodes.ts';
import { ownProvider, providersOf, reconcile } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

export const placement: readonly Scenario[] = [
  {
    name: 'a dry run of reconcile shows changes made in Placement, and reconcile repairs them',
    run: async (stage) => {
      const { placement } = stage.admin;
      assert.equal(reconcile(stage).status, 0, 'no drift at first');
      const device = ownProvider(stage, 'FakeDevice');
      const inventory = `${device}/inventories/FPGA`;
      const { body } = await placement.ask('GET', inventory);
      await placement.ask('PUT', inventory, { ...body, total: 32, max_unit: 32 });
      const traits = (await placement.ask('GET', `${device}/traits`)).body;
      await placement.ask('PUT', `${device}/traits`, { ...traits, traits: ['CUSTOM_FAKE_DEVICE'] });
      await placement.ask('DELETE', ownProvider(stage, '0000:0d:00.0_region0'));
      const foreign = await makeForeign(stage, 'conflicting', ['CUSTOM_FAKE_DEVICE']);
      const dry = reconcile(stage);
      assert.equal(dry.status, 1);
      assert.equal((await placement.ask('GET', inventory)).body.total, 32, 'a dry run');
      const repaired = reconcile(stage, '--repair');
      assert.equal(repaired.status, 0, repaired.text);
      assert.equal((await placement.ask('GET', inventory)).body.total, 16);
      const left = (await placement.ask('GET', `/resource_providers/${foreign}/traits`)).body;
      assert.deepEqual(left.traits, ['CUSTOM_FAKE_DEVICE'], 'traits of others stay');
      await removeForeign(stage, foreign);
      return differing(dry.text);
    },
  },
  {
    name: 'a device with a conflicting provider of Nova is not offered until Nova removes it',
    run: async (stage) => {
      const { placement } = stage.admin;
      const host = stage.cloud.plan.computeHost;
      const novas = await makeForeign(stage, `${host}_pci_0000_0e_00_0`, ['OWNER_NOVA']);
      const vgpus = `${ownProvider(stage, '0000:0e:00.0_fake-1')}/inventories/VGPU`;
      const reserved = async () => (await placement.ask('GET', vgpus)).body.reserved;
      const conflict = reconcile(stage, '--repair');
      assert.equal(conflict.status, 1);
      assert.equal(await reserved(), 4);
      await removeForeign(stage, novas);
      assert.equal(reconcile(stage, '--repair').status, 0);
      assert.equal(await reserved(), 0);
      return differing(conflict.text);
    },
  },
  {
    name: 'an aggregate of Nova has its zone, and its host by the name that the agent reports',
    run: async (stage) => {
      const { nova } = stage.admin;
      const operator = await operatorOf(stage);
      const { hosts } = (await operator.ask('GET', '/hosts')).body;
      const [service] = (await nova.ask('GET', '/os-services?binary=nova-compute')).body.services;
      assert.ok(service, 'Nova has no compute service');
      const created = { name: 'rack1', availability_zone: service.zone };
      const { aggregate } = (await nova.ask('POST', '/os-aggregates', { aggregate: created })).body;
      const path = `/os-aggregates/${aggregate.id}`;
      const { host: member } = service;
      await nova.ask('POST', `${path}/action`, { add_host: { host: member } });
      try {
        const { aggregates } = (await operator.ask('GET', '/aggregates')).body;
        assert.deepEqual(aggregates, [{ ...created, hosts: [member] }]);
        assert.ok(
          hosts.some(({ hostname }) => hostname === member),
          member,
        );
      } finally {
        await nova.ask('POST', `${path}/action`, { remove_host: { host: member } });
        await nova.ask('DELETE', path);
      }
      return '';
    },
  },
  {
    name: 'a device of a compute node survives restarts of the agent',
    run: async (stage) => {
      const before = (await providersOf(stage)).map(({ uuid }) => uuid).sort();
      const agent = `agent-${stage.cloud.plan.computeHost}`;
      await stage.system.kill(agent);
      await stage.system.start(agent);
      await eventually(
        async () => (await stage.admin.accelerator.ask('GET', '/devices')).body.devices,
        (devices) => devices.length === 3,
      );
      assert.deepEqual((await providersOf(stage)).map(({ uuid }) => uuid).sort(), before);
      return '';
    },
  },
];

/** Creates a provider of another service below the compute node. */
async function makeForeign(stage: Stage, name: string, traits: readonly string[]): Promise<string> {
  const { placement } = stage.admin;
  const [node] = (await providersOf(stage)).filter(
    (each) => each.name === stage.cloud.plan.computeHost,
  );
  const made = await placement.ask('POST', '/resource_providers', {
    name,
    parent_provider_uuid: node?.uuid,
  });
  const { uuid, generation } = made.body;
  await placement.ask('PUT', `/resource_providers/${uuid}/traits`, {
    resource_provider_generation: generation,
    traits,
  });
  return uuid;
}

/**
 * Restarts nova-compute, too: it keeps the tree for five minutes, asks for the allocations of each
 * provider in it, and fails builds while one of them is gone.
 */
async function removeForeign(stage: Stage, uuid: string): Promise<void> {
  await stage.admin.placement.ask('DELETE', `/resource_providers/${uuid}`);
  await restartCompute(stage, stage.cloud.plan.computeHost);
}

function differing(text: string): string {
  return [...text.matchAll(/^≠ .*\n(?: {6}.*\n)*/gm)].map(([block]) => block.trimEnd()).join('\n');
}
