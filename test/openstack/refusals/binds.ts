// Refusals of binds, and binds that fail.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { markRevoked } from '#core/store/hosts/revocations.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { configurationFile } from '#test/openstack/install/configuration.ts';
import { restartNova } from '#test/openstack/nodes.ts';
import { ownProvider, providersOf } from '#test/openstack/providers.ts';
import { regionGroup } from '#test/openstack/scenarios/images.ts';
import {
  arqsOf,
  assertAllVgpusFree,
  buildAtLast,
  offer,
  remove,
  show,
} from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { admin } from '#test/openstack/users.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { actRefused, buildsMax, createRefused, type Refusal, type Seen } from './refused.ts';

export const refusedBinds: readonly Refusal[] = [
  {
    what: 'a disabled device',
    provoke: async (stage) => {
      await setStatus(stage, 'disable');
      return createPastPlacement(stage);
    },
    repair: enableAgain,
  },
  {
    what: 'a drained host',
    provoke: async (stage) => {
      const operator = await operatorOf(stage);
      await operator.ask('POST', `${hostPath(stage)}/drain`, { reason: 'a new fan' });
      return createPastPlacement(stage);
    },
    repair: async (stage) => {
      await (await operatorOf(stage)).ask('POST', `${hostPath(stage)}/resume`);
      await untilOffered(stage);
    },
  },
  {
    what: 'a disabled device, which Placement knows',
    instead: 'none',
    provoke: async (stage) => {
      await setStatus(stage, 'disable');
      await untilReserved(stage);
      const { id = '', state, message } = await createRefused(stage, 'fpga');
      await remove(stage, id);
      return { state, message };
    },
    repair: enableAgain,
  },
  {
    what: 'a device on hold',
    provoke: async (stage) => {
      await (await operatorOf(stage)).ask('POST', '/holds', holdOf(stage));
      return createPastPlacement(stage);
    },
    repair: async (stage) => {
      const operator = await operatorOf(stage);
      const { body } = await operator.ask('POST', '/holds', holdOf(stage));
      await operator.ask('DELETE', `/holds/${body.id}`);
      await untilOffered(stage);
    },
  },
  {
    what: 'a host that was revoked',
    provoke: async (stage) => {
      await setRevoked(stage, new Date().toISOString());
      return createRefused(stage, 'vgpu');
    },
    repair: (stage) => setRevoked(stage, undefined),
  },
  {
    what: 'a host whose agent is not connected',
    isLong: true,
    provoke: async (stage) => {
      await stage.system.kill(agentOf(stage));
      await untilHost(stage, 'away');
      return createRefused(stage, 'vgpu');
    },
    repair: async (stage) => {
      await stage.system.start(agentOf(stage));
      await untilHost(stage, 'online');
    },
  },
  {
    what: 'a bitstream that is no image',
    provoke: async (stage) => {
      await offer(stage, 'no-image', [{ ...regionGroup, 'accel:bitstream_name': 'missing.gbs' }]);
      return createRefused(stage, 'no-image');
    },
  },
  {
    what: 'a device that its host cannot prepare',
    provoke: (stage) => createFailing(stage, 3000),
  },
  {
    what: 'the same, half a minute later',
    isLong: true,
    instead: 'event `failed`',
    provoke: (stage) => createFailing(stage, 27_000),
  },
  {
    what: 'a host that has failed three jobs in a row',
    isLong: true,
    provoke: (stage) => untilPatched(stage, () => createFailing(stage, 0)),
    repair: assertAllVgpusFree,
  },
  {
    what: 'an unshelve onto a disabled device',
    provoke: async (stage) => {
      const { id } = await buildAtLast(stage, 'fpga');
      await stage.demo.nova.ask('POST', `/servers/${id}/action`, { shelve: null });
      await eventually(
        () => show(stage, id),
        ({ status, task }) => status === 'SHELVED_OFFLOADED' && task === null,
      );
      await setStatus(stage, 'disable');
      await openInventory(stage);
      return actRefused(stage, id, { unshelve: null });
    },
    repair: enableAgain,
  },
  {
    what: "a hard reboot while the host's agent is not connected",
    isLong: true,
    provoke: async (stage) => {
      const { id } = await buildAtLast(stage, 'vgpu');
      await stage.system.kill(agentOf(stage));
      await eventually(
        () => arqsOf(stage, id),
        ([arq]) => arq?.state === 'unknown',
      );
      return actRefused(stage, id, { reboot: { type: 'HARD' } });
    },
    repair: (stage) => stage.system.start(agentOf(stage)),
  },
  {
    what: 'a resource provider that is not ours',
    provoke: async (stage) => {
      await offer(stage, 'foreign', [byForeignTrait]);
      await addForeignProvider(stage);
      return createRefused(stage, 'foreign');
    },
    repair: removeForeignProvider,
  },
  {
    what: 'a device without a trait of the profile, which Placement shows',
    provoke: async (stage) => {
      await offer(stage, 'untrue', [byForeignTrait]);
      await changeForeignTrait(stage, ownProvider(stage, 'FakeDevice'), [foreignTrait]);
      return createRefused(stage, 'untrue');
    },
    repair: (stage) => changeForeignTrait(stage, ownProvider(stage, 'FakeDevice'), []),
  },
  {
    what: 'a bind without a service token',
    isLong: true,
    // Any tenant may send such a call, and name any server in it.
    reader: admin,
    provoke: withoutServiceToken,
  },
];

/** A trait that a device profile asks for, and that no device of ours has. */
const foreignTrait = 'CUSTOM_FOREIGN';
const byForeignTrait = { 'resources:FPGA': '1', [`trait:${foreignTrait}`]: 'required' };

async function addForeignProvider(stage: Stage): Promise<void> {
  const { placement } = stage.admin;
  const [node] = await providersOf(stage);
  const { uuid } = (
    await placement.ask('POST', '/resource_providers', {
      name: foreignTrait,
      parent_provider_uuid: node?.uuid,
    })
  ).body;
  await placement.ask('PUT', `/resource_providers/${uuid}/inventories`, {
    resource_provider_generation: 0,
    inventories: { FPGA: { total: 1 } },
  });
  await changeForeignTrait(stage, `/resource_providers/${uuid}`, [foreignTrait]);
}

async function removeForeignProvider({ admin: { placement } }: Stage): Promise<void> {
  const path = `/resource_providers?name=${foreignTrait}`;
  const [{ uuid }] = (await placement.ask('GET', path)).body.resource_providers;
  await placement.ask('DELETE', `/resource_providers/${uuid}`);
}

/** By hand; ours puts its own traits back when it compares the provider. */
async function changeForeignTrait(
  { admin: { placement } }: Stage,
  provider: string,
  added: readonly string[],
): Promise<void> {
  await placement.ask('PUT', `/traits/${foreignTrait}`);
  const { traits } = (await placement.ask('GET', `${provider}/traits`)).body;
  const { generation } = (await placement.ask('GET', provider)).body;
  await placement.ask('PUT', `${provider}/traits`, {
    resource_provider_generation: generation,
    traits: [...traits.filter((each) => each !== foreignTrait), ...added],
  });
}

async function fakeDevice({ admin }: Stage): Promise<string> {
  const { devices } = (await admin.accelerator.ask('GET', '/devices')).body;
  const device = devices.find(({ type, model }) => type === 'FPGA' && model === 'miss model info');
  return device?.uuid ?? assert.fail('the fake device is gone');
}

async function setStatus(stage: Stage, change: 'enable' | 'disable'): Promise<void> {
  const device = await fakeDevice(stage);
  await stage.admin.accelerator.ask('POST', `/devices/${device}/${change}`);
}

async function enableAgain(stage: Stage): Promise<void> {
  await setStatus(stage, 'enable');
  await untilOffered(stage);
}

const holdOf = ({ cloud }: Stage) => ({
  hostname: cloud.plan.computeHost,
  reason: 'they reset themselves',
});

async function setRevoked({ cloud, layout }: Stage, at: string | undefined): Promise<void> {
  await markRevoked(createDocuments().strong, layout.stage, cloud.plan.computeHost, at);
}

const inventory = (stage: Stage) => `${ownProvider(stage, 'FakeDevice')}/inventories/FPGA`;

async function untilReserved(stage: Stage): Promise<void> {
  await eventually(
    () => stage.admin.placement.ask('GET', inventory(stage)),
    ({ body }) => body.reserved === 16,
  );
}

/** Placement may still get the reservation that was overridden, before it is taken back. */
async function untilOffered(stage: Stage): Promise<void> {
  const { id } = await buildAtLast(stage, 'fpga');
  await remove(stage, id);
}

/** Nova schedules to the device, as if Placement had not heard of its change. */
async function openInventory(stage: Stage): Promise<void> {
  await untilReserved(stage);
  const { placement } = stage.admin;
  await eventually(
    async () => {
      const { body } = await placement.ask('GET', inventory(stage));
      return placement.try('PUT', inventory(stage), { ...body, reserved: 0 });
    },
    // 409 where the provider has changed since the GET.
    ({ status }) => status === 200,
  );
}

async function createPastPlacement(stage: Stage): Promise<Seen> {
  await openInventory(stage);
  return createRefused(stage, 'fpga');
}

async function createFailing(stage: Stage, delayMs: number): Promise<Seen> {
  stage.setFaults({ fail: { prepare: 'EIO' }, delayMs: { prepare: delayMs } });
  const seen = await createRefused(stage, 'vgpu');
  stage.setFaults();
  return seen;
}

/** Builds until a bind is refused. */
async function untilPatched(stage: Stage, tryOnce: () => Promise<Seen>): Promise<Seen> {
  for (let builds = 1; builds <= buildsMax; builds++) {
    const from = stage.answers.length;
    const seen = await tryOnce();
    const patch = stage.answers.slice(from).find(({ method }) => method === 'PATCH');
    if (patch?.status === 409) return seen;
    await remove(stage, seen.id ?? '');
  }
  return assert.fail(`in ${buildsMax} builds no bind was refused`);
}

async function withoutServiceToken(stage: Stage): Promise<Seen> {
  const usual = readFileSync(configurationFile(stage.cloud.plan, 'nova'), 'utf8');
  const other = usual.replace('send_service_user_token = true', 'send_service_user_token = false');
  await restartNova(stage, other, ['nova-conductor']);
  try {
    return await createRefused(stage, 'fpga');
  } finally {
    await restartNova(stage, usual, ['nova-conductor']);
  }
}

const agentOf = ({ cloud }: Stage) => `agent-${cloud.plan.computeHost}`;
const hostPath = ({ cloud }: Stage) => `/hosts/${cloud.plan.computeHost}`;

async function untilHost(stage: Stage, state: string): Promise<void> {
  const operator = await operatorOf(stage);
  await eventually(
    () => operator.ask('GET', hostPath(stage)),
    ({ body }) => body.state === state,
    120,
  );
}
