// Chooses which units of a pool a bind takes: such that belong together, and so that what is left
// serves the next bind best. Pure.

import type { AttachHandle } from '#core/domain/device/device.ts';
import {
  availableWholes,
  byPlace,
  canGive,
  placeOf,
  type SameLevel,
  sameLevels,
  unitsIn,
  type Whole,
} from './wholes.ts';

interface UnitRequest {
  readonly count: number;
  /** What all units must have in common. */
  readonly same?: SameLevel | undefined;
  readonly isFree: (handle: AttachHandle) => boolean;
  /** 0 ≤ x < 1. Among equals the choice is random, so that parallel binds rarely pick the same. */
  readonly random: () => number;
}

/**
 * @param handles all of the pool
 * @returns `count` handles, or undefined if fewer are together
 */
export function chooseUnits(
  handles: readonly AttachHandle[],
  { count, same, isFree, random }: UnitRequest,
): AttachHandle[] | undefined {
  const available = shuffled(availableWholes(handles, isFree), random);
  const among = same ? byPlace(available, same) : [available];
  const fitting = among.filter((wholes) => canGive(wholes, count));
  const [best] = fitting.sort((one, other) => unitsIn(one) - unitsIn(other));
  // From far to near: the places inside the chosen one.
  return best && take(best, count, sameLevels.toReversed()).flatMap((whole) => whole.handles);
}

/** Counts the servers that can have `count` units each, one after the other. */
export function timesTogether(
  handles: readonly AttachHandle[],
  { isFree, ...request }: Omit<UnitRequest, 'random'>,
): number {
  const taken = new Set<AttachHandle>();
  const isLeft = (handle: AttachHandle) => isFree(handle) && !taken.has(handle);
  for (let times = 0; ; times++) {
    const next = chooseUnits(handles, { ...request, isFree: isLeft, random: () => 0 });
    if (!next) return times;
    for (const handle of next) taken.add(handle);
  }
}

function take(wholes: readonly Whole[], count: number, levels: readonly SameLevel[]): Whole[] {
  const [level, ...nearer] = levels;
  if (count === 0) return [];
  if (level === undefined) return takeWholes(wholes, count);
  const places = [...Map.groupBy(wholes, (each) => placeOf(each, level) ?? each).values()];
  // The fullest place that can give all of them, so that large rests stay for large requests.
  const [best] = places
    .filter((place) => canGive(place, count))
    .sort((one, other) => unitsIn(one) - unitsIn(other));
  return best ? take(best, count, nearer) : takeFromSeveral(places, count, nearer);
}

/** Takes most from the largest place, as far as the others can give the rest. */
function takeFromSeveral(
  places: readonly (readonly Whole[])[],
  count: number,
  nearer: readonly SameLevel[],
): Whole[] {
  const largest = places.toSorted((one, other) => unitsIn(other) - unitsIn(one));
  for (const place of largest) {
    const others = largest.filter((each) => each !== place);
    for (let part = Math.min(count - 1, unitsIn(place)); part > 0; part--) {
      if (!canGive(place, part) || !canGive(others.flat(), count - part)) continue;
      const [best] = others
        .filter((each) => canGive(each, count - part))
        .sort((one, other) => unitsIn(one) - unitsIn(other));
      const rest = best
        ? take(best, count - part, nearer)
        : takeFromSeveral(others, count - part, nearer);
      return [...take(place, part, nearer), ...rest];
    }
  }
  throw new TypeError(`${count} units cannot be taken from places that have them.`);
}

/** Takes the largest wholes first, so that few are broken into. */
function takeWholes(wholes: readonly Whole[], count: number): Whole[] {
  const rest = wholes.toSorted((one, other) => other.handles.length - one.handles.length);
  const taken: Whole[] = [];
  let left = count;
  for (let whole = rest.shift(); whole && left > 0; whole = rest.shift()) {
    const size = whole.handles.length;
    if (size > left || !canGive(rest, left - size)) continue;
    taken.push(whole);
    left -= size;
  }
  return taken;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}
