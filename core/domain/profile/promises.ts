// Promises of alternatives: what Nova was given in the last moments, and Placement may not count
// yet. Without them, servers that boot at once would all be given the first alternative. Pure.

/** How long a count of Placement's candidates is believed. */
export const countedMs = 5_000;
/** A promise that no bind has kept by then will most likely never be kept. */
const lastsMs = 60_000;
/** A request gives a promise this long after the count that it believes, at most. */
const lateMs = 2 * countedMs;

/** Those of one revision of a profile, with an entry for each alternative. */
export interface Promises {
  /** When Placement was asked last; milliseconds since 1970, 0 before it was. */
  readonly countedAt: number;
  readonly alternatives: readonly AlternativePromises[];
  /** How many had been given at some moments of the last minute, the newest first. */
  readonly marks: readonly Mark[];
}

/** Numbers by alternative. Those that compete for devices have the promises of each other, too. */
export interface AlternativePromises {
  /** Servers that Placement had room for when it was asked. */
  readonly free: number;
  /** Up to which number promises may be given. */
  readonly room: number;
  /** All that were given since the first. */
  readonly given: number;
  /** Those of them that were kept, or were not kept in time. */
  readonly closed: number;
}

interface Mark {
  readonly at: number;
  readonly given: readonly number[];
}

/** What a count stores. */
export interface Counted extends Omit<Promises, 'alternatives'> {
  readonly alternatives: readonly Omit<AlternativePromises, 'given'>[];
}

export const noPromises: Promises = { countedAt: 0, alternatives: [], marks: [] };

export function isCurrent({ countedAt }: Promises, nowMs: number): boolean {
  return nowMs - countedAt < countedMs;
}

/**
 * The room after Placement was asked. Of the promises that are still open it may have counted all,
 * or none: between the two, what was left before is right. Less is left where others took units.
 *
 * @param free what Placement has
 * @param read after it was asked, so that no server is in `free` whose promise is not in this
 */
export function countedAgain(free: readonly number[], read: Promises, askedMs: number): Counted {
  const numbers = read.alternatives.map((each) => each.given);
  const late = { at: Math.min(askedMs, read.countedAt + lateMs), given: numbers };
  // Requests that count at once leave one mark.
  const apart = read.marks.filter(({ at }) => at <= late.at - countedMs);
  const marks = numbers.length > 0 ? [late, ...apart] : [];
  const isOld = ({ at }: Mark) => at <= askedMs - lastsMs;
  const old = marks.find(isOld);
  const alternatives = free.map((each, index) => {
    const before = read.alternatives[index];
    if (!before) return { free: each, room: each, closed: 0 };
    const closed = Math.max(before.closed, old?.given[index] ?? 0);
    return { free: each, room: roomFor(each, { ...before, closed }), closed };
  });
  const recent = marks.filter((mark) => !isOld(mark));
  return { countedAt: askedMs, alternatives, marks: old ? [...recent, old] : recent };
}

function roomFor(free: number, { room, given, closed }: AlternativePromises): number {
  const least = free - Math.max(0, given - closed);
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
