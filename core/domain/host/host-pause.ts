// Pauses a host that fails one job after another: each bind that fails there is a server that is
// not built, and may leave a handle to clean up.

import { backoffSeconds } from '#core/domain/retry-later.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import type { failedJobs } from '#core/shapes/host.ts';
import type { StoredHost } from './host.ts';

export type FailedJobs = Shaped<typeof failedJobs>;

/** One or two failures may be the instance's, or chance. */
export const failuresBeforePause = 3;

const minuteMs = 60_000;
const pauseMinutesMax = 15;

/** Until when the host takes no bind that it must prepare; undefined if it takes them. */
export function pausedUntil(
  { failedJobs }: Pick<StoredHost, 'failedJobs'>,
  nowMs: number,
): string | undefined {
  if (!failedJobs || failedJobs.count < failuresBeforePause) return undefined;
  const untilMs = Date.parse(failedJobs.lastAt) + pauseMs(failedJobs);
  return nowMs < untilMs ? new Date(untilMs).toISOString() : undefined;
}

/** A minute after the third failure, and twice as long after each further one. */
function pauseMs({ count }: FailedJobs): number {
  return backoffSeconds(count - failuresBeforePause + 1, pauseMinutesMax) * minuteMs;
}
