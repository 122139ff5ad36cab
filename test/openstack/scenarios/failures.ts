// Devices that are disabled or lost: no server becomes ACTIVE without its device. Binds that are
// refused or fail are in test/openstack/refusals/.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { aGbs } from '#local/demo/gbs.ts';
import { restartCompute } from '#test/openstack/nodes.ts';
import { ownProvider } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  arqsOf,
  assertHas,
  build,
  offer,
  putImage,
  remove,
  removeCleanly,
  show,
} from '#test/openstack/servers.ts';
import { type ApiAnswer, bootFile, operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';
import { regionGroup } from './images.ts';

export const failures: readonly Scenario[] = [
  {
    name: 'a disabled device gets no server; after it is enabled, it does',
    run: async (stage) => {
      const device = await deviceOfType(stage, 'FPGA', 'miss model info');
      await stage.guide('disable', undefined, { DEVICE: device });
      await untilReserved(stage, 16);
      const refused = await build(stage, 'fpga');
      assert.equal(refused.status, 'ERROR');
      assert.match(refused.fault, /No valid host/);
      await remove(stage, refused.id);
      await stage.admin.accelerator.ask('POST', `/devices/${device}/enable`);
      await untilReserved(stage, 0);
      const built = await build(stage, 'fpga');
      assert.equal(built.status, 'ACTIVE');
      await remove(stage, built.id);
      return refused.fault;
    },
  },
  {
    name: 'a server is not started while its host may have lost its vGPU, and is afterwards',
    run: async (stage) => {
      const [host = ''] = stage.cloud.plan.computeHosts;
      const { id, fault } = await build(stage, 'vgpu');
      assert.equal(fault, '');
      await stage.system.kill(`agent-${host}`);
      const states = async () => (await arqsOf(stage, id)).map(({ state }) => state);
      await eventually(states, ([state]) => state === 'unknown');
      const startedAt = performance.now();
      assert.equal(await rebootResult(stage, id), 'Error');
      const seconds = (performance.now() - startedAt) / 1000;
      await stage.system.start(`agent-${host}`);
      await eventually(states, ([state]) => state === 'Bound');
      assert.equal(await rebootResult(stage, id), 'Success');
      await removeCleanly(stage, id);
      return `the reboot failed after ${seconds.toFixed(0)} s, and succeeded when the agent was back`;
    },
  },
  {
    name: "a boot: a server with a region and a vGPU starts after its host's report, not before",
    run: async (stage) => {
      const image = await putImage(stage, 'boot.gbs', new Uint8Array(aGbs({ bitstream: 'boot' })));
      const programmed = { ...regionGroup, 'accel:bitstream_id': image };
      await offer(stage, 'region-and-vgpu', [programmed, vgpuGroup]);
      const built = await build(stage, 'region-and-vgpu');
      const before = await assertHas(stage, built, 2);
      const notes: string[] = [];
      for (const seconds of [0, 3, 10, 40])
        notes.push(await bootAndReboot(stage, built.id, seconds));
      const after = await assertHas(stage, { ...built, status: 'ACTIVE' }, 2);
      assert.deepEqual(after.map(handleOf).sort(), before.map(handleOf).sort());
      await removeCleanly(stage, built.id);
      return notes.join('\n');
    },
  },
  {
    name: 'after all failures, a server gets the same accelerators',
    run: async (stage) => {
      const built = await build(stage, 'all-vgpus');
      assert.equal(built.status, 'ACTIVE', built.fault);
      await removeCleanly(stage, built.id);
      return '';
    },
  },
];

const vgpuGroup = { 'resources:VGPU': '1', 'trait:CUSTOM_ABCD_9B01_FAKE_2': 'required' };

const handleOf = ({ attach_handle_uuid }: { readonly attach_handle_uuid: string }) =>
  attach_handle_uuid;

/**
 * The host loses its power, and nova-compute is back before the agent. The server is rebooted; its
 * devices are empty until the agent has made them again, which takes seconds.
 *
 * @param lateSeconds from the reboot of the server to the start of the agent
 */
async function bootAndReboot(stage: Stage, id: string, lateSeconds: number): Promise<string> {
  const { cloud, system } = stage;
  const host = cloud.plan.computeHost;
  const operator = await operatorOf(stage);
  const bootId = randomUUID();
  await system.kill(`agent-${host}`);
  await cloud.killCompute(host);
  writeFileSync(bootFile(cloud.plan), bootId);
  await restartCompute(stage, host);
  stage.setFaults({ delayMs: { prepare: 1500, program: 1500 } });
  const startedAt = performance.now();
  const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1);
  const listed = stage.answers.length;
  const agent = sleep(lateSeconds * 1000).then(() => system.start(`agent-${host}`));
  const notes: string[] = [`agent ${lateSeconds} s late`];
  let reportedAt: string | undefined;
  let result = await hardReboot(stage, id);
  for (let ended: string | null = null; ended !== 'Success'; await sleep(50)) {
    ended = await result();
    // What counts is what the host had when Nova saw the list, or the server as started.
    const isMade = isMadeAgain(stage, bootId);
    const isListed = stage.answers
      .slice(listed)
      .some((each) => isList(each) && each.status === 200);
    if (ended === 'Success' || isListed) {
      assert.ok(isMade, `${ended ?? 'listed'} with empty devices, after ${seconds()} s`);
    }
    if (reportedAt === undefined) {
      const { body } = await operator.ask('GET', `/hosts/${host}`);
      if (body.boot_id === bootId) reportedAt = seconds();
    }
    if (ended !== 'Error') continue;
    assert.ok(performance.now() - startedAt < 180_000, 'The server was never started.');
    notes.push(`refused after ${seconds()} s`);
    await untilIdle(stage, id);
    result = await hardReboot(stage, id);
  }
  notes.push(`its report ${reportedAt} s`, `ACTIVE ${seconds()} s`);
  await agent;
  stage.setFaults();
  assert.equal((await untilIdle(stage, id)).status, 'ACTIVE');
  return notes.join(', ');
}

function untilIdle(stage: Stage, id: string) {
  return eventually(
    () => show(stage, id),
    ({ task }) => task === null,
  );
}

const isList = ({ method, path }: ApiAnswer) =>
  method === 'GET' && path.endsWith('/accelerator_requests');

/** Whether the fake hardware has an image and an mdev since the boot. */
function isMadeAgain({ layout, cloud }: Stage, bootId: string): boolean {
  const folder = join(layout.directory, 'agents', cloud.plan.computeHost, 'drivers/fake-hardware');
  const [fpga, gpu] = ['fpga.json', 'gpu.json'].map((name) => {
    const { boot_id, state } = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    return boot_id === bootId ? state : {};
  });
  return fpga.imageId !== undefined && gpu.mdevs?.length === 1;
}

/** How a hard reboot ends. */
async function rebootResult(stage: Stage, id: string): Promise<string> {
  const result = await hardReboot(stage, id);
  return String(await eventually(result, (ended) => ended !== null, 60));
}

/** Returns what asks for its result; null until it has ended. */
async function hardReboot({ demo, admin }: Stage, id: string) {
  const path = `/servers/${id}/os-instance-actions`;
  const { headers } = await demo.nova.ask('POST', `/servers/${id}/action`, {
    reboot: { type: 'HARD' },
  });
  const request = headers.get('x-openstack-request-id');
  return async (): Promise<string | null> => {
    const { body } = await admin.nova.ask('GET', `${path}/${request}`);
    return body.instanceAction.events[0]?.result ?? null;
  };
}

async function deviceOfType(stage: Stage, type: string, model: string): Promise<string> {
  const { devices } = (await stage.admin.accelerator.ask('GET', '/devices')).body;
  const found = devices.find((device) => device.type === type && device.model === model);
  assert.ok(found, `${type} ${model}`);
  return found.uuid;
}

async function untilReserved(stage: Stage, count: number): Promise<void> {
  const path = `${ownProvider(stage, 'FakeDevice')}/inventories/FPGA`;
  await eventually(
    () => stage.admin.placement.ask('GET', path),
    ({ body }) => body.reserved === count,
  );
}
