// Which device may start a child now: one child per device at a time, a bounded number of
// children in all, and none for a device whose last child hangs in the kernel.

import { HardwareError } from './errno.ts';
import type { ChildResult, WatchedChild } from './watched-child.ts';

/** The form of the report's field. */
export interface Health {
  readonly state: 'healthy' | 'unhealthy' | 'unknown';
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
}

export interface QueueLimits {
  readonly childrenMax: number;
  /** Each is a process in state D that may stay until the next boot. */
  readonly abandonedMax: number;
}

export interface DeviceQueue {
  /** Waits its turn, then starts the child. @throws HardwareError if the device is stuck */
  run(device: string, start: () => WatchedChild): Promise<ChildResult>;
  /** Starts a child that touches several devices; a late one makes none of them stuck. */
  runShared(start: () => WatchedChild): Promise<ChildResult>;
  /** Whether a child of the device runs, waits or hangs. */
  isBusy(device: string): boolean;
  isStuck(device: string): boolean;
  healthOf(device: string): Health;
}

export function createDeviceQueue(limits: QueueLimits, wallMs: () => number): DeviceQueue {
  const last = new Map<string, Promise<unknown>>();
  const stuck = new Set<string>();
  const health = new Map<string, Health>();
  const waiting: (() => void)[] = [];
  let running = 0;
  let abandoned = 0;

  const slot = async () => {
    if (running < limits.childrenMax) running += 1;
    // The slot is passed on by the child that ends.
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const freeSlot = () => {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  };

  async function started(start: () => WatchedChild, onAbandoned: (gone: Promise<void>) => void) {
    await slot();
    try {
      if (abandoned >= limits.abandonedMax) throw refusedForAll(limits.abandonedMax);
      const { result, gone } = start();
      let isGone = false;
      gone.then(() => {
        isGone = true;
      });
      const ended = await result;
      // One more turn, because `gone` and `result` may settle together.
      await Promise.resolve();
      if (!isGone) {
        abandoned += 1;
        gone.then(() => {
          abandoned -= 1;
        });
        onAbandoned(gone);
      }
      return ended;
    } finally {
      freeSlot();
    }
  }

  function note(device: string, state: Health['state'], reason: string): void {
    const before = health.get(device);
    if (before?.state === state && before.reason === reason) return;
    health.set(device, { state, reason, since: new Date(wallMs()).toISOString() });
  }

  async function runAlone(device: string, start: () => WatchedChild): Promise<ChildResult> {
    if (stuck.has(device)) {
      throw new HardwareError('EBUSY', `an earlier operation on ${device} hangs in the kernel`);
    }
    const ended = await started(start, (gone) => {
      stuck.add(device);
      gone.then(() => stuck.delete(device));
    });
    if (ended.end === 'late')
      note(device, 'unhealthy', 'is stuck: an operation hangs in the kernel');
    else note(device, 'healthy', 'answers');
    return ended;
  }

  return {
    run: (device, start) => {
      const turn = (last.get(device) ?? Promise.resolve()).then(() => runAlone(device, start));
      const over = turn.catch(() => {});
      last.set(device, over);
      over.then(() => {
        if (last.get(device) === over) last.delete(device);
      });
      return turn;
    },
    runShared: (start) => started(start, () => {}),
    isBusy: (device) => last.has(device) || stuck.has(device),
    isStuck: (device) => stuck.has(device),
    healthOf: (device) =>
      health.get(device) ?? {
        state: 'unknown',
        reason: 'not used yet',
        since: new Date(wallMs()).toISOString(),
      },
  };
}

function refusedForAll(count: number): HardwareError {
  return new HardwareError('EAGAIN', `${count} operations hang in the kernel; none is started`);
}
