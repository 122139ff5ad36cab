// Refusals of device profiles and of new accelerator requests, and calls that are not answered.

import assert from 'node:assert/strict';
import {
  assertNothingLeft,
  build,
  makeFlavor,
  offer,
  remove,
  untilBuilt,
} from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { logIn } from '#test/openstack/users.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { buildsMax, createRefused, type Refusal, requestServer, seenOf } from './refused.ts';

const fpgaGroup = { 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' };

export const refusedRequests: readonly Refusal[] = [
  {
    what: 'a profile that does not exist',
    provoke: async (stage) => {
      await makeFlavor(stage, 'nameless');
      await setProfile(stage, 'nameless', 'no-such-profile');
      return createRefused(stage, 'nameless');
    },
  },
  {
    what: 'a profile that is not published to the project',
    provoke: async (stage) => {
      await offer(stage, 'unpublished', [fpgaGroup]);
      await changeProfile(stage, 'unpublished', { projects: [await projectId(stage, 'other')] });
      return createRefused(stage, 'unpublished');
    },
  },
  {
    what: 'a disabled profile',
    provoke: async (stage) => {
      await offer(stage, 'withdrawn', [fpgaGroup]);
      const operator = await operatorOf(stage);
      const reason = 'use profile fpga';
      await operator.ask('POST', '/device_profiles/withdrawn/disable', { reason });
      return createRefused(stage, 'withdrawn');
    },
  },
  {
    what: 'a profile that is deleted while Nova schedules',
    provoke: async (stage) => {
      for (let builds = 1; builds <= buildsMax; builds++) {
        await offerProfile(stage, 'deleted');
        const { body } = await requestServer(stage, 'deleted');
        await stage.admin.accelerator.ask('DELETE', '/device_profiles?value=deleted');
        const seen = seenOf(body.server.id, await untilBuilt(stage, body.server.id, 300));
        if (seen.state === 'ERROR') return seen;
        await remove(stage, body.server.id);
      }
      return assert.fail(`in ${buildsMax} builds no profile was gone before its POST`);
    },
  },
  {
    what: 'a project whose quota is used up',
    provoke: async (stage) => {
      await (await operatorOf(stage)).ask('PUT', await quotaPath(stage), { limits: { FPGA: 0 } });
      return createRefused(stage, 'fpga');
    },
    repair: async (stage) => {
      await (await operatorOf(stage)).ask('DELETE', await quotaPath(stage));
    },
  },
  {
    what: 'a server while DynamoDB is away',
    provoke: async (stage) => {
      await stage.system.kill('dynamodb');
      return createRefused(stage, 'fpga');
    },
    repair: (stage) => stage.system.start('dynamodb'),
  },
  {
    what: 'a server while our API is away',
    instead: 'none',
    provoke: async (stage) => {
      await stage.system.kill('api');
      return createRefused(stage, 'fpga');
    },
    repair: (stage) => stage.system.start('api'),
  },
  {
    what: 'a delete while our API is away',
    instead: 'none',
    provoke: async (stage) => {
      const { id } = await build(stage, 'fpga');
      await stage.system.kill('api');
      const { status } = await stage.demo.nova.ask('DELETE', `/servers/${id}`);
      await eventually(
        () => stage.demo.nova.try('GET', `/servers/${id}`),
        (gone) => gone.status === 404,
      );
      await stage.system.start('api');
      // What the reaper does half an hour later.
      const token = await logIn(stage.cloud.plan, { name: 'nova', project: 'service' });
      const asNova = stage.admin.accelerator.with({ 'X-Service-Token': token });
      await asNova.ask('DELETE', `/accelerator_requests?instance=${id}`);
      await assertNothingLeft(stage, id);
      return { state: `no server: ${status}`, message: '' };
    },
  },
];

async function offerProfile(stage: Stage, name: string): Promise<void> {
  const body = [{ name, groups: [fpgaGroup] }];
  await stage.admin.accelerator.ask('POST', '/device_profiles', body);
  const { status } = await stage.admin.nova.try('GET', `/flavors/${name}`);
  if (status === 200) return;
  await makeFlavor(stage, name);
  await setProfile(stage, name, name);
}

async function setProfile({ admin }: Stage, flavor: string, profile: string): Promise<void> {
  await admin.nova.ask('POST', `/flavors/${flavor}/os-extra_specs`, {
    extra_specs: { 'accel:device_profile': profile },
  });
}

async function changeProfile(stage: Stage, name: string, change: object): Promise<void> {
  const operator = await operatorOf(stage);
  await operator.ask('PUT', `/device_profiles/${name}`, { name, groups: [fpgaGroup], ...change });
}

async function quotaPath(stage: Stage): Promise<string> {
  return `/quotas/${await projectId(stage, 'demo')}`;
}

async function projectId({ admin }: Stage, name: string): Promise<string> {
  return (await admin.keystone.ask('GET', `/projects?name=${name}`)).body.projects[0].id;
}
