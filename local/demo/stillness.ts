// How long a wait has seen no change. The clock stands while this process, or one that it started,
// waits for a processor: on a busy machine all of them are slow, and none has stopped.

import { readdirSync, readFileSync } from 'node:fs';

/** The longest time without any change. A step may take longer while something changes. */
export const stillSecondsMax = 120;

let movedAt = 0;

/** Extends all waits: call it when the system shows progress, for instance with a log line. */
export function noteProgress(): void {
  movedAt = runSeconds();
}

/** Whether nothing has changed for too long. */
export function standsStill(): boolean {
  return runSeconds() - movedAt >= stillSecondsMax;
}

const sampleMs = 1000;

let ranMs = 0;
let starvedMs = 0;
let sampledAt = performance.now();

/** Seconds in which the processes could run. A wait asks for them again and again. */
export function runSeconds(): number {
  const passedMs = performance.now() - sampledAt;
  if (passedMs < sampleMs) return ranMs / 1000;
  const before = starvedMs;
  starvedMs = starvedMsOf(process.pid);
  // A process that has ended takes its part of the sum with it. After a long pause of this
  // process nothing is known of the others.
  ranMs += Math.max(Math.min(passedMs, 2 * sampleMs) - Math.max(starvedMs - before, 0), 0);
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
    // The process has ended, or the system does not tell: only Linux does.
    return 0;
  }
}

function numbersIn(file: string): readonly number[] {
  return readFileSync(file, 'latin1').split(' ').map(Number);
}
