// Processes that are killed in the middle of a boot: no server becomes ACTIVE without its devices,
// and no device is lost.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  arqsOf,
  assertAllVgpusFree,
  assertHas,
  type Built,
  create,
  remove,
  untilBuilt,
} from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const boots = 3;
/** The length of an outage after which half-bound servers remained in an earlier version. */
const awayMs = 6000;
/** From the request of a server to the middle of its boot. */
const untilMiddleMs = [300, 900, 1500];

interface Victim {
  kill(stage: Stage): Promise<void>;
  start(stage: Stage): Promise<void>;
}

const part = (name: string): Victim => ({
  kill: ({ system }) => system.kill(name),
  start: ({ system }) => system.start(name),
});

const victims: Readonly<Record<string, Victim>> = {
  'our API': part('api'),
  'our consumers': part('consumers'),
  'nova-compute': {
    kill: ({ cloud }) => cloud.killCompute(),
    start: ({ cloud }) => cloud.startCompute(),
  },
};

export const killed: readonly Scenario[] = Object.entries(victims).map(([name, victim]) => ({
  name: `killed in the middle of a boot: ${name} for ${awayMs / 1000} s`,
  // The others take a minute or more; servers of nova-compute wait for Nova's own timeouts.
  isLong: name !== 'our API',
  run: async (stage: Stage) => {
    const ends: string[] = [];
    for (let boot = 0; boot < boots; boot++) ends.push(await bootAndKill(stage, victim, boot));
    // One server gets all accelerators of this type, so none of them is held.
    await assertAllVgpusFree(stage);
    return `servers ended ${ends.join(', ')}`;
  },
}));

async function bootAndKill(stage: Stage, victim: Victim, boot: number): Promise<string> {
  const id = await create(stage, 'fpga-and-vgpu');
  await sleep(untilMiddleMs[boot]);
  await victim.kill(stage);
  await sleep(awayMs);
  await victim.start(stage);
  const server = await untilBuilt(stage, id, 330);
  if (server.status === 'ACTIVE') {
    const built: Built = { id, status: server.status, fault: server.fault, seconds: 0 };
    await assertHas(stage, built, 2);
  } else {
    assert.equal(server.status, 'ERROR');
  }
  await remove(stage, id);
  return `${server.status}${await endLeft(stage, id)}`;
}

/**
 * ARQs that Nova could not delete during the outage: a nova-compute that completes a delete at its
 * start has no service catalog. Placement reserves their units until the reaper releases them
 * after ten minutes; an administrator who deletes them ends that at once.
 */
async function endLeft(stage: Stage, id: string): Promise<string> {
  const arqs = await arqsOf(stage, id);
  if (arqs.length === 0) return '';
  const startedAt = performance.now();
  const providers = new Set(arqs.flatMap(({ device_rp_uuid }) => device_rp_uuid ?? []));
  for (const provider of providers) {
    const isOver = async () =>
      (await isReserved(stage, provider)) || (await arqsOf(stage, id)).length === 0;
    await eventually(isOver, Boolean, 180);
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  await stage.admin.accelerator.ask('DELETE', `/accelerator_requests?instance=${id}`);
  return ` (${arqs.length} ARQs left, reserved after ${seconds} s)`;
}

async function isReserved({ admin }: Stage, provider: string): Promise<boolean> {
  const path = `/resource_providers/${provider}/inventories`;
  const { inventories } = (await admin.placement.ask('GET', path)).body;
  return Object.values<{ reserved: number }>(inventories).some(({ reserved }) => reserved > 0);
}
