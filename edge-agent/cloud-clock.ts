// The control plane's time, by the times in answers of AWS IoT Jobs: work messages end by that
// clock, and the host's own may be wrong. Kept by the monotonic clock, which stays as it is when
// the time of the host is set.

import type { Clock } from './clock.ts';

export interface Skew {
  /** How far the host's clock is ahead of the control plane's; negative if it is behind. */
  readonly aheadMs: number;
  /** The measurement is wrong by this much at most. */
  readonly withinMs: number;
}

export interface CloudClock {
  /**
   * An answer had this time, in whole seconds.
   *
   * @param askedMs when it was asked for, by the monotonic clock
   */
  note(seconds: number, askedMs: number): void;
  /** Milliseconds since 1970; undefined before the first answer. */
  nowMs(): number | undefined;
  skew(): Skew | undefined;
}

/** How fast two clocks part: 200 ppm is more than that of any crystal. */
const driftPerMs = 200e-6;

/** Bounds of what the control plane's time is more than the monotonic clock. */
interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly atMs: number;
}

export function createCloudClock(clock: Pick<Clock, 'monotonicMs' | 'wallMs'>): CloudClock {
  let bounds: Bounds | undefined;
  const boundsAt = (nowMs: number): Bounds | undefined => {
    if (!bounds) return undefined;
    const drift = (nowMs - bounds.atMs) * driftPerMs;
    return { low: bounds.low - drift, high: bounds.high + drift, atMs: nowMs };
  };
  const skew = () => {
    const bounds = boundsAt(clock.monotonicMs());
    if (!bounds) return undefined;
    const cloudMs = bounds.atMs + (bounds.low + bounds.high) / 2;
    return {
      aheadMs: Math.round(clock.wallMs() - cloudMs),
      withinMs: Math.ceil((bounds.high - bounds.low) / 2),
    };
  };
  return {
    note: (seconds, askedMs) => {
      const atMs = clock.monotonicMs();
      // The answer was written between the request and now, within the second that it names.
      const low = seconds * 1000 - atMs;
      const high = seconds * 1000 + 1000 - askedMs;
      const before = boundsAt(atMs);
      const both = before && { low: Math.max(low, before.low), high: Math.min(high, before.high) };
      bounds = { ...(both && both.low <= both.high ? both : { low, high }), atMs };
    },
    nowMs: () => {
      const now = skew();
      return now && clock.wallMs() - now.aheadMs;
    },
    skew,
  };
}
