// What Placement holds of a pool: the amounts that it can ever give, and, as traits, those that it
// can give now from one place. A profile with `accel:same` requires the trait of its amount.
//
// The bounds of an inventory stay as they are, although they would say the same: Placement holds
// each allocation to them again when it is written anew, and an evacuation does that. Pure.

import type { AttachHandle } from '#core/domain/device/device.ts';
import {
  availableWholes,
  byPlace,
  canGive,
  type SameLevel,
  sameLevels,
  unitsIn,
  wholesOf,
} from './wholes.ts';

/** The amounts for which there are traits. */
export const sameAmounts: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 16, 32];

const sizeTraitPattern = /^CUSTOM_ACCEL_SAME_(SWITCH|ROOT|NUMA|BOARD)_[0-9]+$/;

/** `CUSTOM_ACCEL_SAME_NUMA_4`: four units of one NUMA node can be had now. */
export function sizeTrait(level: SameLevel, amount: number): string {
  return `CUSTOM_ACCEL_SAME_${level.toUpperCase()}_${amount}`;
}

/** It comes and goes with what is free: a bind looks at the units themselves. */
export function isSizeTrait(trait: string): boolean {
  return sizeTraitPattern.test(trait);
}

export function sizeTraits(
  handles: readonly AttachHandle[],
  isFree: (handle: AttachHandle) => boolean,
): string[] {
  const available = availableWholes(handles, isFree);
  return sameLevels.flatMap((level) => {
    const places = byPlace(available, level);
    const amounts = sameAmounts.filter((amount) => places.some((each) => canGive(each, amount)));
    return amounts.map((amount) => sizeTrait(level, amount));
  });
}

/** The most units that one server can get from one place of each kind. */
export function countTogether(
  handles: readonly AttachHandle[],
  isFree: (handle: AttachHandle) => boolean,
): Record<SameLevel, number> {
  const available = availableWholes(handles, isFree);
  const most = sameLevels.map((level) => [
    level,
    Math.max(0, ...byPlace(available, level).map(unitsIn)),
  ]);
  return Object.fromEntries(most) as Record<SameLevel, number>;
}

export interface AmountBounds {
  readonly minUnit: number;
  readonly stepSize: number;
}

/** The least amount that a pool of these handles can give, and the step between amounts. */
export function amountBounds(handles: readonly AttachHandle[]): AmountBounds {
  const sizes = wholesOf(handles.filter(({ isGone }) => !isGone)).map((each) => unitsIn([each]));
  if (sizes.length === 0) return { minUnit: 1, stepSize: 1 };
  return { minUnit: Math.min(...sizes), stepSize: sizes.reduce(greatestDivisor) };
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other);
}
