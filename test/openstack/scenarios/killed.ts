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
  // ARQs that Nova could not delete during the outage remain until the reaper releases them.
  const left = await stage.demo.accelerator.try('GET', `/accelerator_requests?instance=${id}`);
  const count = left.status === 200 ? left.body.arqs.length : (await arqsOf(stage, id)).length;
  return count === 0 ? server.status : `${server.status} (${count} ARQs left)`;
}
