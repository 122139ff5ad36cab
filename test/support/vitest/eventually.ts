import { expect } from 'vitest';
import { patience } from './patience.ts';

/** An expectation that is retried until it is met. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { ...patience, interval: 5 });
}
