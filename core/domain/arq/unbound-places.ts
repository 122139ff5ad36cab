// The places of a project's unbound ARQs. A creation takes a place for each ARQ before it stores
// the ARQ. The places are in a few parts, of a row each: a row takes a thousand writes a second,
// and costs more the more it holds. Pure.

import { timeOfUuid } from '#core/domain/ids.ts';
import type { Arq } from './arq.ts';

export interface UnboundPart {
  readonly projectId: string;
  readonly index: number;
  /** How many ARQs it may hold. */
  readonly max: number;
}

/** What is stored of a part. */
export interface PartContent {
  /** ARQs that are unbound, or were when the part was last tidied. */
  readonly uuids: readonly string[];
  /** Grows with each removal. */
  readonly removals: number;
  /** How many ARQs the last tidying left, and when it was; milliseconds since 1970. */
  readonly kept: number;
  readonly tidiedMs?: number;
}

/** Such a row has 10 KB. */
const placesPerPart = 250;
const partsMax = 16;

/** A part is tidied when it has half as many more as the last time, and this many: below 1 KB. */
const untidyMax = 16;

/**
 * Longer than a creation may take from its place to its ARQ without looking at the place again,
 * and than the clocks of two functions differ. A busy process may stand still for seconds between
 * the two, and the gateway waits 30 seconds for an answer.
 */
const beginsWithinMs = 30_000;
export const looksAgainAfterMs = beginsWithinMs / 2;

/** A project that is at its limit has its ARQs read at most so often. */
const tidyPauseMs = 1000;

export function partsFor(projectId: string, max: number): UnboundPart[] {
  const count = Math.min(partsMax, Math.ceil(max / placesPerPart));
  return Array.from({ length: count }, (_, index) => ({
    projectId,
    index,
    max: Math.floor(max / count) + Number(index < max % count),
  }));
}

/** The parts in the order in which an ARQ looks for its place, and is looked for. */
export function partsForArq(parts: readonly UnboundPart[], uuid: string): UnboundPart[] {
  const first = parts.length > 0 ? timeOfUuid(uuid) % parts.length : 0;
  return [...parts.slice(first), ...parts.slice(0, first)];
}

/** The share of ARQs that were stored without places; of all parts the shares are all. */
export function sharesOf(
  { index }: UnboundPart,
  partCount: number,
  uuids: readonly string[],
): string[] {
  return uuids.filter((uuid) => Number.parseInt(uuid.at(-1) ?? '', 16) % partCount === index);
}

/** Whether all of the part was found to be needed a moment ago. */
export function isTidiedNow({ uuids, kept, tidiedMs }: PartContent, nowMs: number): boolean {
  const isRecent = tidiedMs !== undefined && nowMs - tidiedMs < tidyPauseMs;
  return isRecent && uuids.length <= kept;
}

export function isUntidy({ uuids, kept }: PartContent): boolean {
  return uuids.length >= kept * 1.5 + untidyMax;
}

/** Whether the ARQ needs its place: it waits for its first bind, or may still be stored. */
export function needsPlace(uuid: string, arq: Arq | undefined, nowMs: number): boolean {
  if (arq) return arq.state === 'Initial';
  return nowMs - timeOfUuid(uuid) < beginsWithinMs;
}
