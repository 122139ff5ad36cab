// Operations, each interrupted at one of its steps: a process dies, stalls, or writes twice. In
// the end all sides agree. `npm run test:simulation -- --steps` plays all of these scenarios.

import { describe, expect, it } from 'vitest';
import { operations } from '#simulation/operations/operations.ts';
import {
  everyStep,
  everyStepOfAll,
  nameOf,
  play,
  type Scenario,
} from '#simulation/scenarios/scenarios.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';

async function violationsIn(scenarios: readonly Scenario[]): Promise<string[]> {
  const violations: string[] = [];
  for (const scenario of scenarios) {
    const violation = await play(scenario);
    if (violation) violations.push(`${nameOf(scenario)}: ${violation.message}`);
  }
  return violations;
}

describe('a sample, one scenario of each of 60 operations, breaks no rule', () => {
  const { sample } = sampleOf(Object.keys(operations), 60);

  it.each(sample.map((operation, index) => ({ operation, index })))(
    '$operation',
    async ({ operation, index }) => {
      const scenarios = await everyStep(operation);
      const chosen = scenarios[Math.floor(((index % 3) + 0.5) * (scenarios.length / 3))];
      expect(await violationsIn(chosen ? [chosen] : [])).toEqual([]);
      expect(chosen).toBeDefined();
    },
  );
});

it('150 scenarios, spread over all operations, break no rule', { tags: ['long'] }, async () => {
  const { sample } = sampleOf(await everyStepOfAll(), 150);
  expect(sample).toHaveLength(150);
  expect(await violationsIn(sample)).toEqual([]);
});
