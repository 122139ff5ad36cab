// A few scenarios, and again those that once went wrong. `npm run test:simulation` scenarios ten thousand.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runSeed } from '#simulation/run.ts';
import { play, scenarioOf } from '#simulation/scenarios.ts';
import { addOutcome, emptySummary } from '#simulation/summary.ts';

const regressions = JSON.parse(
  readFileSync(new URL('../../simulation/regressions.json', import.meta.url), 'utf8'),
) as string[];

// Seconds where nothing else runs; a busy machine has its time.
const patience = 180_000;

it(
  'has no seed in which anything is lost, promised twice or untrue',
  async () => {
    const summary = emptySummary();
    for (let seed = 1; seed <= 100; seed += 1) addOutcome(summary, await runSeed(seed));
    expect(summary.failures).toEqual([]);
    expect(Object.keys(summary.faults).length).toBeGreaterThan(20);
    expect(summary.servers.ACTIVE).toBeGreaterThan(10);
  },
  patience,
);

it.each(regressions)('nothing goes wrong in %s, where once it did', async (scenario) => {
  expect(await play(scenarioOf(scenario))).toBeUndefined();
});

it('is the same run for the same seed', async () => {
  const [first, again] = [[], []] as string[][];
  for (const trace of [first, again]) await runSeed(7, { trace: (line) => trace?.push(line) });
  expect(first?.length).toBeGreaterThan(1000);
  expect(again).toEqual(first);
});
