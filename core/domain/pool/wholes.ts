// The units of a pool: a provider whose handles belong to several devices of one host, and say
// where each is. The functions of a set are taken together, or none of them. Pure.

import type { AttachHandle } from '#core/domain/device/device.ts';

/** What all units of a group of a profile can have in common, from near to far. */
export const sameLevels = ['switch', 'root', 'numa', 'board'] as const;
export type SameLevel = (typeof sameLevels)[number];

/** What is taken as a whole: one handle, or the handles of a set. */
export interface Whole {
  readonly handles: readonly AttachHandle[];
}

export function isPool(handles: readonly AttachHandle[]): boolean {
  return handles.some(({ locality }) => locality !== undefined);
}

export function wholesOf(handles: readonly AttachHandle[]): Whole[] {
  const wholes = Map.groupBy(handles, ({ uuid, locality }) => locality?.set ?? `alone ${uuid}`);
  return [...wholes.values()].map((each) => ({ handles: each }));
}

/**
 * The wholes all of whose handles can be taken.
 *
 * @param handles all of the pool
 */
export function availableWholes(
  handles: readonly AttachHandle[],
  isFree: (handle: AttachHandle) => boolean,
): Whole[] {
  return wholesOf(handles).filter((whole) => whole.handles.every(isFree));
}

/** Where the whole is; undefined if it is not known, or the whole is in several such places. */
export function placeOf({ handles }: Whole, level: SameLevel): string | undefined {
  if (level === 'board') return 'board';
  const [place, ...others] = new Set(handles.map(({ locality }) => locality?.[level]));
  return place === undefined || others.length > 0 ? undefined : String(place);
}

export function unitsIn(wholes: readonly Whole[]): number {
  return wholes.reduce((sum, { handles }) => sum + handles.length, 0);
}

/** Whether some of the wholes have exactly `count` units. */
export function canGive(wholes: readonly Whole[], count: number): boolean {
  const sums = new Array<boolean>(count + 1).fill(false);
  sums[0] = true;
  for (const { handles } of wholes) {
    for (let sum = count; sum >= handles.length; sum--) {
      sums[sum] ||= sums[sum - handles.length] as boolean;
    }
  }
  return sums[count] as boolean;
}

/** The wholes in each place that is known. */
export function byPlace(wholes: readonly Whole[], level: SameLevel): Whole[][] {
  const places = Map.groupBy(wholes, (whole) => placeOf(whole, level));
  places.delete(undefined);
  return [...places.values()];
}
