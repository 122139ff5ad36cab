// Promises of alternatives: what Nova was given in the last moments, and Placement may not count
// yet. Without them, servers that boot at once would all be given the first alternative. Pure.

/** How long a count of Placement's candidates is believed. */
export const countedMs = 5_000;
/** A promise ends when its server is bound, or after two to three of these. */
const periodMs = 30_000;
const periodsKept = 3;

/** Those of one revision of a profile, with an entry for each alternative. */
export interface Promises {
  /** When Placement was asked last; milliseconds since 1970, 0 before it was. */
  readonly countedAt: number;
  readonly alternatives: readonly AlternativePromises[];
}

export interface AlternativePromises {
  /** Servers that Placement had room for when it was asked. */
  readonly free: number;
  /** Up to which number promises may be given. */
  readonly room: number;
  /** All that were given since the first. */
  readonly given: number;
  /** Given and not settled, by the period in which they were given. */
  readonly open: ReadonlyMap<number, number>;
}

export const noPromises: Promises = { countedAt: 0, alternatives: [] };

export function periodOf(nowMs: number): number {
  return Math.floor(nowMs / periodMs);
}

export function isCurrent({ countedAt }: Promises, nowMs: number): boolean {
  return nowMs - countedAt < countedMs;
}

/** The periods whose promises have ended. */
export function endedPeriods({ open }: AlternativePromises, nowMs: number): number[] {
  return [...open.keys()].filter((period) => period <= periodOf(nowMs) - periodsKept);
}

/**
 * The room after Placement was asked. Of the promises that are still open it may have counted all,
 * or none: between the two, what was left before is right. Less is left where others took units.
 *
 * @param free what Placement has
 * @param read after it was asked, so that no server is in `free` whose promise is not in this
 */
export function roomFor(
  free: number,
  read: Pick<AlternativePromises, 'room' | 'given' | 'open'> | undefined,
  nowMs: number,
): number {
  if (!read) return free;
  const { room, given, open } = read;
  const pending = [...open]
    .filter(([period]) => period > periodOf(nowMs) - periodsKept)
    .reduce((sum, [, count]) => sum + count, 0);
  const least = free - Math.max(0, pending);
  const left = room - given;
  return given + (least <= left && left <= free ? left : least);
}

/**
 * The first of the allowed alternatives with room. Where all room is promised, the first for which
 * Placement had any: some promises are never kept.
 */
export function bestAlternative(
  { alternatives }: Promises,
  allowed: readonly number[],
): { readonly index: number; readonly hasRoom: boolean } {
  const withRoom = allowed.find((index) => {
    const { given = 0, room = 0 } = alternatives[index] ?? {};
    return given < room;
  });
  if (withRoom !== undefined) return { index: withRoom, hasRoom: true };
  const withAny = allowed.find((index) => (alternatives[index]?.free ?? 0) > 0);
  return { index: withAny ?? allowed[0] ?? 0, hasRoom: false };
}
