// Each operation, once for each of its steps and each interrupt there: a process dies, stalls, or
// writes twice. In the end all sides agree.

import { describe, expect, it } from 'vitest';
import { operations } from '#simulation/operations/operations.ts';
import { everyStep, nameOf, play, type Scenario } from '#simulation/scenarios/scenarios.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';

async function violationsIn(scenarios: readonly Scenario[]): Promise<string[]> {
  const violations: string[] = [];
  for (const scenario of scenarios) {
    const violation = await play(scenario);
    if (violation) violations.push(`${nameOf(scenario)}: ${violation.message}`);
  }
  return violations;
}

async function partsOf(operation: string) {
  return sampleOf(await everyStep(operation), 3);
}

describe('a sample, three scenarios of each operation, breaks no rule', () => {
  it.each(Object.keys(operations))('%s', async (operation) => {
    const { sample } = await partsOf(operation);
    expect(sample).not.toEqual([]);
    expect(await violationsIn(sample)).toEqual([]);
  });
});

/** `npm run test:simulation -- --steps` plays all, which takes more than an hour of one core. */
describe('five others of each operation break no rule', { tags: ['long'] }, () => {
  it.each(Object.keys(operations))('%s', async (operation) => {
    const { sample } = sampleOf((await partsOf(operation)).rest, 5);
    expect(sample).not.toEqual([]);
    expect(await violationsIn(sample)).toEqual([]);
  });
});
