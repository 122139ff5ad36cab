// AWS allows so many calls of an action a second, and refuses the rest.

import { JobsError } from './errors.ts';

/** To be called before each; without a limit it does nothing. @throws JobsError Throttling */
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
