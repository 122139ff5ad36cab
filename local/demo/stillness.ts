// How long a wait has seen no change. Time in which the processes of the test wait for a processor
// hardly counts: on a busy machine all of them are slow, and none hangs.

import { readdirSync, readFileSync } from 'node:fs';

/** The longest time without any change. A step may take longer while something changes. */
export const stillSecondsMax = 120;
/** The longest wait, also while something changes. */
const waitSecondsMax = 900;

let movedAt = 0;

/**
 * Extends all waits: call it when the system shows progress.
 *
 * @param line of a part's log; an answered request is none, since waits send requests
 */
export function noteProgress(_part?: string, line?: Readonly<Record<string, unknown>>): void {
  if (line?.message !== 'Request answered') movedAt = runSeconds();
}

/** @returns a function that says whether nothing has changed for too long */
export function startWait(stillSeconds = stillSecondsMax): () => boolean {
  noteProgress();
  const beganAt = movedAt;
  return () => runSeconds() - movedAt >= stillSeconds || runSeconds() - beganAt >= waitSecondsMax;
}

const sampleMs = 1000;
/** Some of the time counts always: a process that is busy for ever is a fault. */
const starvedShareMax = 0.9;

let ranMs = 0;
let starvedMs = 0;
let sampledAt = performance.now();

/** A clock that runs slower while processes wait for a processor. */
export function runSeconds(): number {
  const passedMs = performance.now() - sampledAt;
  if (passedMs < sampleMs) return ranMs / 1000;
  const before = starvedMs;
  starvedMs = starvedMsOf(process.pid);
  // A process that has ended takes its part of the sum with it.
  const lostMs = Math.min(Math.max(starvedMs - before, 0), passedMs * starvedShareMax);
  ranMs += passedMs - lostMs;
  sampledAt = performance.now();
  return ranMs / 1000;
}

/** How long the threads of the process and of its descendants have waited for a processor. */
function starvedMsOf(pid: number): number {
  const directory = `/proc/${pid}/task`;
  try {
    return readdirSync(directory).reduce((sum, thread) => {
      const [, waitedNs = 0] = numbersIn(`${directory}/${thread}/schedstat`);
      const children = numbersIn(`${directory}/${thread}/children`).filter((child) => child > 0);
      return sum + waitedNs / 1e6 + children.reduce((all, child) => all + starvedMsOf(child), 0);
    }, 0);
  } catch {
    // The process has ended, or the system does not have these files: only Linux has.
    return 0;
  }
}

function numbersIn(file: string): readonly number[] {
  return readFileSync(file, 'latin1').split(' ').map(Number);
}
