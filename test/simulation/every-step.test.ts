// Each operation, once for each of its steps and each interrupt there: a process dies, stalls, or
// writes twice. In the end all sides agree.

import { expect, it } from 'vitest';
import { playAllAtOnce } from '#simulation/mutants.ts';
import { operations } from '#simulation/scenarios/operations.ts';
import { everyStep } from '#simulation/scenarios/scenarios.ts';

it.each(Object.keys(operations))(
  '%s',
  async (operation) => {
    const scenarios = await everyStep(operation);
    expect(scenarios.length).toBeGreaterThan(5);
    const parts = await playAllAtOnce(scenarios);
    expect(parts.flatMap(({ violations }) => violations)).toEqual([]);
  },
  // Without a measure of speed: a loaded machine takes several minutes for the longest.
  1_800_000,
);
