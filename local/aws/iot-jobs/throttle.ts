// A rate limit per action: AWS refuses more calls a second.

import { JobsError } from './errors.ts';

/**
 * The result is called before each request; without a limit it does nothing. @throws JobsError
 * Throttling
 */
export function createThrottle(perSecond: number | undefined, now: () => number): () => void {
  let second = 0;
  let count = 0;
  return () => {
    if (perSecond === undefined) return;
    const current = Math.floor(now() / 1000);
    if (current !== second) {
      second = current;
      count = 0;
    }
    count += 1;
    if (count > perSecond) throw new JobsError('Throttling', 'Rate exceeded');
  };
}
