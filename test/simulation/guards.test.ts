// Each guard of the product is needed: a scenario that passes with it fails without it. The
// command `npm run test:simulation -- --guards` finds these scenarios and writes guards.json. The
// test replays them, and similar ones if the product has changed its steps.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { otherGuards } from '#simulation/guards.ts';
import { conditionsOfOperations, tryWithout } from '#simulation/mutants.ts';
import { scenarioOf, withSimilar } from '#simulation/scenarios/scenarios.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';

const guards = JSON.parse(
  readFileSync(new URL('../../simulation/guards.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, string>>;

describe('the mutant without a guard is killed', () => {
  const { sample, rest } = sampleOf(Object.entries(guards), 16);
  const others = sampleOf(rest, 24);

  it.each(sample)('%s: by %s (a sample of 16)', isKilled);

  it.each(others.sample)('%s: by %s (24 others)', { tags: ['long'] }, isKilled);

  it.each(others.rest)('%s: by %s', { tags: ['long', 'whole'] }, isKilled);
});

async function isKilled(guard: string, scenario: string): Promise<void> {
  const known = scenarioOf(scenario);
  const { failure } = await tryWithout(guard, [known]);
  const similar = async () => tryWithout(guard, await withSimilar(known));
  expect(failure ?? (await similar()).failure).toBeDefined();
}

it('guards.json has every guard and every condition of a write', { tags: ['long'] }, async () => {
  const found = [...otherGuards, ...(await conditionsOfOperations())];
  expect(found.filter((guard) => guards[guard] === undefined)).toEqual([]);
});
