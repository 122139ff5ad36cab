import { expect } from 'vitest';

/** An expectation that comes true in its own time; the limit is for a very busy machine. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { timeout: 15_000, interval: 5 });
}
