// How far a host's clock is from the control plane's, as its agent measures it.

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { clockSkew } from '#core/shapes/host.ts';

export type ClockSkew = Shaped<typeof clockSkew>;

/** Beyond it, times of a host do not fit to others: certificates, tokens, logs. */
export const skewSecondsMax = 5;

/** A clock that has moved by less, beside what a measurement may be wrong by, is as before. */
const settledMs = 1_000;

/**
 * In whole seconds; what is stored stays while the clock is as before. A clock that is not known
 * to differ counts as right: slow answers on a busy host measure little.
 */
export function settledSeconds({ aheadMs, withinMs }: ClockSkew, stored = 0): number {
  const isSame = Math.abs(stored * 1000 - aheadMs) < settledMs + withinMs;
  return isSame ? stored : Math.round(aheadMs / 1000);
}
