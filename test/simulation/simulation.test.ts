// Some seeds, and every scenario that has failed before. `npm run test:simulation` plays 10,000.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runSeed } from '#simulation/scenarios/run.ts';
import { runOperation } from '#simulation/scenarios/run-operation.ts';
import { play, scenarioOf } from '#simulation/scenarios/scenarios.ts';
import { addOutcome, emptySummary } from '#simulation/summary.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';

const regressions = JSON.parse(
  readFileSync(new URL('../../simulation/regressions.json', import.meta.url), 'utf8'),
) as string[];

const seedsMax = 40;
/** Few in one test, which then ends within its time also on a busy machine. */
const seedsPerTest = 5;
const firsts = Array.from({ length: seedsMax / seedsPerTest }, (_, at) => at * seedsPerTest + 1);

describe(`seeds 1 to ${seedsMax}`, () => {
  const whole = emptySummary();

  it.each(firsts)(`no rule is broken in ${seedsPerTest} seeds from %i`, async (first) => {
    const summary = emptySummary();
    for (let seed = first; seed < first + seedsPerTest; seed += 1) {
      const outcome = await runSeed(seed);
      addOutcome(summary, outcome);
      addOutcome(whole, outcome);
    }
    expect(summary.failures).toEqual([]);
  });

  it('have many kinds of faults, and servers that become ACTIVE nevertheless', () => {
    expect(Object.keys(whole.faults).length).toBeGreaterThan(20);
    expect(whole.servers.ACTIVE).toBeGreaterThan(10);
  });
});

it('no rule is broken in six seeds with what wide.ts adds', async () => {
  const summary = emptySummary();
  for (let seed = 1; seed <= 6; seed += 1) {
    addOutcome(summary, await runSeed(seed, { isWide: true }));
  }
  expect(summary.failures).toEqual([]);
});

const { sample, rest } = sampleOf(regressions, 20);

it.each(sample)('%s passes (a sample of twenty)', passes);

const others = sampleOf(rest, 30);

it.each(others.sample)('%s passes (30 others)', { tags: ['long'] }, passes);

it.each(others.rest)('%s passes', { tags: ['long', 'whole'] }, passes);

async function passes(scenario: string): Promise<void> {
  expect(await play(scenarioOf(scenario))).toBeUndefined();
}

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
