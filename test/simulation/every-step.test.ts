// Each operation, once for each of its steps and each interrupt there: a process dies, stalls, or
// writes twice. In the end all sides agree.

import { describe, expect, it } from 'vitest';
import { operations } from '#simulation/scenarios/operations.ts';
import { everyStep, nameOf, play, type Scenario } from '#simulation/scenarios/scenarios.ts';
import { tenthOf } from '#test/support/vitest/sample.ts';

async function violationsIn(scenarios: readonly Scenario[]): Promise<string[]> {
  const violations: string[] = [];
  for (const scenario of scenarios) {
    const violation = await play(scenario);
    if (violation) violations.push(`${nameOf(scenario)}: ${violation.message}`);
  }
  return violations;
}

async function partsOf(operation: string) {
  const all = await everyStep(operation);
  return tenthOf(operations[operation]?.hasManySteps ? tenthOf(all).sample : all);
}

describe('a sample, a fixed tenth of the scenarios, breaks no rule', () => {
  it.each(Object.keys(operations))('%s', async (operation) => {
    const { sample } = await partsOf(operation);
    expect(sample).not.toEqual([]);
    expect(await violationsIn(sample)).toEqual([]);
  });
});

/** `npm run test:simulation -- --steps` plays all, which takes more than an hour of one core. */
describe('a third of the others breaks no rule', { tags: ['long'] }, () => {
  it.each(Object.keys(operations))('%s', async (operation) => {
    const { rest } = await partsOf(operation);
    const third = rest.filter((_, index) => index % 3 === 0);
    expect(third).not.toEqual([]);
    expect(await violationsIn(third)).toEqual([]);
  });
});
