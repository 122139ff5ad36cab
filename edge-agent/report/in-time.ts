// A time limit for what a driver is asked.

import type { Clock } from '#agent/clock.ts';

/**
 * Resolves with the answer. A late one is left to itself.
 *
 * @param onLate makes the error of a late answer
 */
export async function inTime<T>(
  clock: Clock,
  seconds: number,
  running: Promise<T>,
  onLate: () => Error,
): Promise<T> {
  const settled = new AbortController();
  const over = () => settled.abort();
  running.then(over, over);
  const late = clock.sleep(seconds * 1000, settled.signal).then(() => {
    if (!settled.signal.aborted) throw onLate();
    return running;
  });
  return await Promise.race([running, late]);
}
