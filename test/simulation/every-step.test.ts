// Each operation, once for every step of it: its process dies there, before or after the step has
// happened, or the step's write is sent twice. In the end all sides agree, every time.

import { expect, it } from 'vitest';
import { liveAllAtOnce } from '../../simulation/guards-and-lives.ts';
import { everyStep } from '../../simulation/lives.ts';
import { operations } from '../../simulation/operations.ts';

it.each(Object.keys(operations))(
  '%s',
  async (operation) => {
    const lives = await everyStep(operation);
    expect(lives.length).toBeGreaterThan(15);
    const parts = await liveAllAtOnce(lives);
    expect(parts.flatMap(({ violations }) => violations)).toEqual([]);
  },
  300_000,
);
