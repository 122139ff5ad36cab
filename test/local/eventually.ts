import { expect } from 'vitest';
import { patience } from '#test/support/patience.ts';

/** An expectation that comes true in its own time. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { ...patience, interval: 5 });
}
