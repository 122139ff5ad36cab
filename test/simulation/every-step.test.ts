// Each operation, once for every step of it: its process dies there, before or after the step has
// happened, or the step's write is sent twice. In the end all sides agree, every time.

import { expect, it } from 'vitest';
import { playAllAtOnce } from '#simulation/mutants.ts';
import { operations } from '#simulation/operations.ts';
import { everyStep } from '#simulation/scenarios.ts';

it.each(Object.keys(operations))(
  '%s',
  async (operation) => {
    const scenarios = await everyStep(operation);
    expect(scenarios.length).toBeGreaterThan(15);
    const parts = await playAllAtOnce(scenarios);
    expect(parts.flatMap(({ violations }) => violations)).toEqual([]);
  },
  300_000,
);
