// Calls `discover` of one driver, for a report or for a job, with a time limit.

import type { Clock } from './clock.ts';
import type { Driver } from './drivers/driver.ts';

/**
 * A read of a failing device can take a minute or hang; discovery of a healthy host takes one
 * second.
 */
const answerSecondsMax = 30;

/**
 * A driver that hangs is not called again until its call returns; else hung threads would pile
 * up.
 */
const hanging = new WeakSet<Driver>();

/** Rejects also if the driver throws synchronously or does not answer in time. */
export async function askDriver(driver: Driver, clock: Clock): ReturnType<Driver['discover']> {
  if (hanging.has(driver)) throw new Error('still busy with an earlier discovery');
  const settled = new AbortController();
  const answer = driver.discover();
  const late = clock.sleep(answerSecondsMax * 1000, settled.signal).then(() => {
    if (settled.signal.aborted) return;
    hanging.add(driver);
    throw new Error(`no answer within ${answerSecondsMax} s`);
  });
  const over = () => {
    settled.abort();
    hanging.delete(driver);
  };
  answer.then(over, over);
  return await Promise.race([answer, late.then(() => answer)]);
}
