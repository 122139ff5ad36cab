// Calls `discover` of one driver, for a report or for a job, with a time limit, and checks what it
// answers. At most one call of a driver runs at a time.

import type { Clock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { inTime } from './in-time.ts';
import { type DriverReport, readDiscovery } from './read-discovery.ts';

type Answer = Promise<DriverReport>;

/**
 * A read of a failing device can take a minute or hang; discovery of a healthy host takes one
 * second.
 */
const answerSecondsMax = 30;

interface Turn {
  readonly running: Answer;
  /** Shared by all that asked while the driver was running. */
  next?: Answer;
}

const turns = new WeakMap<Driver, Turn>();

/** A driver that hangs is not asked until its call returns. */
const hanging = new WeakSet<Driver>();

/** Rejects also if the driver throws synchronously, or answers nothing readable, or too late. */
export async function askDriver(driver: Driver, clock: Clock): Answer {
  if (hanging.has(driver)) throw new Error('still busy with an earlier discovery');
  return await inTime(clock, answerSecondsMax, inTurn(driver), () => {
    if (turns.has(driver)) hanging.add(driver);
    return new Error(`no answer within ${answerSecondsMax} s`);
  });
}

/**
 * A caller needs the devices as they are after it asked, so it does not take the answer of a call
 * that began before.
 */
function inTurn(driver: Driver): Answer {
  const turn = turns.get(driver);
  if (!turn) return begin(driver);
  turn.next ??= turn.running.catch(() => {}).then(() => begin(driver));
  return turn.next;
}

function begin(driver: Driver): Answer {
  const running = call(driver);
  turns.set(driver, { running });
  const over = () => {
    hanging.delete(driver);
    if (turns.get(driver)?.running === running) turns.delete(driver);
  };
  running.then(over, over);
  return running;
}

/** Turns what the driver throws synchronously into a rejection. */
async function call(driver: Driver): Answer {
  return readDiscovery(driver, await driver.discover());
}
