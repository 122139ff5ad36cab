// Device profiles that are changed while servers with them are built.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '#test/openstack/scenario.ts';
import { arqsOf, assertHas, build, offer, removeCleanly } from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { optionOf } from '#test/support/suites/scenario-suite.ts';

/** At most two accelerators each, of the node's 16, some of which may be reserved for a moment. */
const bootsAtOnce = 6;
/** How many servers are built where the option `--boots` is not given. */
const fewBoots = 24;

export const updates: readonly Scenario[] = [
  {
    name: 'servers that are built beside changes of their profile have what Placement counts',
    run: async (stage) => {
      const most = Number(optionOf('--boots') ?? fewBoots);
      assert.ok(most > 0, '--boots must be a number above 0');
      await offer(stage, 'changing', groupsOf(1));
      const end = new AbortController();
      const changing = changeUntil(stage, end.signal);
      const counts: (number | undefined)[] = [];
      try {
        while (counts.length < most) {
          const round = Array.from({ length: bootsAtOnce }, () => bootOne(stage));
          counts.push(...(await Promise.all(round)));
        }
      } finally {
        end.abort();
      }
      const changes = await changing;
      assert.ok(changes > 0);
      assert.ok(await bootOne(stage), 'no server is built although nothing changes any more');
      const active = counts.filter((count) => count !== undefined).length;
      return `${changes} changes; ${active} of ${counts.length} servers ACTIVE, others refused`;
    },
  },
];

const groupsOf = (count: number) => [
  { 'resources:FPGA': String(count), 'trait:CUSTOM_FAKE_DEVICE': 'required' },
];

/** Returns the accelerators of a server that is ACTIVE; it is gone afterwards. */
async function bootOne(stage: Stage): Promise<number | undefined> {
  const built = await build(stage, 'changing');
  let count: number | undefined;
  if (built.status === 'ACTIVE') {
    count = (await arqsOf(stage, built.id)).length;
    await assertHas(stage, built, count);
  } else {
    assert.match(built.fault, /Failed to bind accelerator requests/);
  }
  await removeCleanly(stage, built.id);
  return count;
}

/** Changes the amounts of the profile again and again; returns how often. */
async function changeUntil(stage: Stage, signal: AbortSignal): Promise<number> {
  const operator = await operatorOf(stage);
  let changes = 0;
  while (!signal.aborted) {
    changes++;
    const groups = groupsOf(1 + (changes % 2));
    await operator.ask('PUT', '/device_profiles/changing', { name: 'changing', groups });
    await sleep(Math.random() * 1000);
  }
  return changes;
}
