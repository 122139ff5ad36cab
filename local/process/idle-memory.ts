// V8 collects garbage when memory is allocated, so a process that has become idle would keep for
// ever what its start or its last burst of work left behind.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Less CPU time than this in an interval is idle: polls and heartbeats alone. */
const idleShare = 0.02;
/** A collection takes some 50 ms of CPU time, so that it is a tenth of what an idle part takes. */
const workMicroseconds = 500_000;

export interface IdleMemoryOptions {
  readonly intervalMs?: number;
  /** CPU time of this process so far, in microseconds. */
  readonly cpuMicroseconds?: () => number;
  readonly collect?: () => void;
}

/** Collects garbage in an idle interval, when enough work was done since the last collection. */
export function collectWhenIdle({
  intervalMs = 10_000,
  cpuMicroseconds = ownCpu,
  collect = garbageCollection(),
}: IdleMemoryOptions = {}): void {
  let before = 0;
  // The first idle interval always collects: the start leaves the most.
  let atCollection = -workMicroseconds;
  setInterval(() => {
    const isIdle = cpuMicroseconds() - before < idleShare * intervalMs * 1000;
    if (isIdle && cpuMicroseconds() - atCollection >= workMicroseconds) {
      collect();
      atCollection = cpuMicroseconds();
    }
    before = cpuMicroseconds();
  }, intervalMs).unref();
}

function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** `gc` is a global of each context that is made after the flag is set. */
function garbageCollection(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (options: object) => void;
  return () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
