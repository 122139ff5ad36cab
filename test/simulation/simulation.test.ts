// A hundred seeds, and every scenario that has failed before. `npm run test:simulation` plays
// 10,000.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runOperation } from '#simulation/operations.ts';
import { runSeed } from '#simulation/run.ts';
import { play, scenarioOf } from '#simulation/scenarios.ts';
import { addOutcome, emptySummary } from '#simulation/summary.ts';

const regressions = JSON.parse(
  readFileSync(new URL('../../simulation/regressions.json', import.meta.url), 'utf8'),
) as string[];

// The tests take seconds on an idle machine, and minutes on a busy one.
const patience = 180_000;

it(
  'no rule is broken in seeds 1 to 100',
  async () => {
    const summary = emptySummary();
    for (let seed = 1; seed <= 100; seed += 1) addOutcome(summary, await runSeed(seed));
    expect(summary.failures).toEqual([]);
    expect(Object.keys(summary.faults).length).toBeGreaterThan(20);
    expect(summary.servers.ACTIVE).toBeGreaterThan(10);
  },
  patience,
);

it.each(regressions)('%s passes', async (scenario) => {
  expect(await play(scenarioOf(scenario))).toBeUndefined();
});

it('a server becomes ACTIVE whose bind begins before the cloud knows of a boot', async () => {
  const { servers } = await runOperation('bind a vGPU before the cloud knows of a boot');
  expect(servers).toEqual(['ACTIVE']);
});

it('a seed gives the same effects each time', async () => {
  const [first, again] = [[], []] as string[][];
  for (const trace of [first, again]) await runSeed(7, { trace: (line) => trace?.push(line) });
  expect(first?.length).toBeGreaterThan(1000);
  expect(again).toEqual(first);
});
