// Limits how many reports of one host are applied: a burst for the parts of a large report, then
// one every few seconds. A report that waits is usually superseded by the host's next one. Pure.

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { pace } from '#core/shapes/host.ts';

/** Enough for the parts of a report of a host with thousands of devices. */
const burst = 30;
const refillMs = 2000;

type Pace = Shaped<typeof pace>;

/** Milliseconds until another report may be applied; 0: now. */
export function waitMs(pace: Pace | undefined, nowMs: number): number {
  if (!pace) return 0;
  return Math.max(0, (1 - leftAt(pace, nowMs)) * refillMs);
}

/** After one more report was applied. */
export function afterOne(pace: Pace | undefined, nowMs: number): Pace {
  return { left: Math.max(0, (pace ? leftAt(pace, nowMs) : burst) - 1), atMs: nowMs };
}

function leftAt({ left, atMs }: Pace, nowMs: number): number {
  return Math.min(burst, left + Math.max(0, nowMs - atMs) / refillMs);
}
