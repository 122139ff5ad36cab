// Quotas: how many ARQs of a resource class a project may have. A stored quota keeps what is left
// of each limit. Creations take from it and only a recount gives back to it, so that it never
// shows more than is left. Pure.

import type { Arq } from '#core/domain/arq/arq.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { type ArqUuid, isTimeOrdered, timeOfUuid } from '#core/domain/ids.ts';
import { canonicalClass, type Group, groupResources } from '#core/domain/profile/device-profile.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import type { quota } from '#core/shapes/quota.ts';
import type { QuotaShortage } from './quota-errors.ts';

/** Resource class → limit. A class without a limit is not counted. */
export type Limits = Readonly<Record<string, number>>;

export interface Quota extends Shaped<typeof quota> {
  readonly projectId: string;
}

/** One ARQ to create. */
export interface Unit {
  readonly uuid: ArqUuid;
  readonly resourceClass: string;
}

type OfClass = Pick<Unit, 'resourceClass'>;

/** The largest limit that can be set. */
export const limitMax = 1_000_000;
const limitsMax = 64;
/** Far longer than a creation runs (29 s at most), and than an index lags. */
const recentMs = 60_000;
/** Bounds the row, and so the price of a creation, where a project creates many ARQs a second. */
const recentMax = 100;
/** Kept also beyond the maximum: by far most creations have ended, and most indexes caught up. */
const recentAtLeastMs = 5000;
/** A recount this soon after the last one would read the same rows for nothing. */
const recountPauseMs = 1000;
/** Bounds what a project at its limit can make a recount read: 500 ARQs a second. */
const pausePerArqMs = 2;
/** Above this many ARQs only the sweep recounts: a POST must be answered in time. */
const countedInPostMax = 20_000;

/**
 * The resource class under which an ARQ counts: the first of its group. All ARQs of a group with
 * several classes count under one, since a stored ARQ does not say which of them it is.
 */
export function countedClass(group: Group): string {
  return Object.keys(groupResources(group))[0] ?? '';
}

/**
 * The limits that a request sets: null is no limit.
 *
 * @throws InvalidInput naming the resource class that is wrong
 */
export function readLimits(requested: Readonly<Record<string, number | null>>): Limits {
  const limits = new Map<string, number | null>();
  for (const [name, limit] of Object.entries(requested)) {
    const resourceClass = canonicalClass(name, 'limits');
    if (limits.has(resourceClass)) {
      throw new InvalidInput(`limits: duplicate resource class ${resourceClass}.`);
    }
    limits.set(resourceClass, limit);
  }
  if (limits.size > limitsMax) {
    throw new InvalidInput(`limits: ${limits.size} resource classes; at most ${limitsMax}.`);
  }
  return Object.fromEntries(
    [...limits].flatMap(([name, limit]): [string, number][] =>
      limit === null ? [] : [[name, limit]],
    ),
  );
}

/** The units that the quota limits. */
export function limitedUnits<Each extends OfClass>(
  { limits }: Quota,
  units: readonly Each[],
): Each[] {
  return units.filter(({ resourceClass }) => limits[resourceClass] !== undefined);
}

export function unitsByClass(units: readonly OfClass[]): Map<string, number> {
  const byClass = Map.groupBy(units, ({ resourceClass }) => resourceClass);
  return new Map([...byClass].map(([resourceClass, { length }]) => [resourceClass, length]));
}

/** The first resource class of which too little is left. */
export function findShortage(quota: Quota, units: readonly OfClass[]): QuotaShortage | undefined {
  for (const [resourceClass, requested] of unitsByClass(limitedUnits(quota, units))) {
    const { limit, inUse } = countedUse(quota, resourceClass);
    if (limit - inUse < requested) return { resourceClass, limit, inUse, requested };
  }
  return undefined;
}

/** The use as counted; a recount may find less. */
export function countedUse({ limits, unitsLeft }: Quota, resourceClass: string) {
  const limit = limits[resourceClass] ?? 0;
  return { limit, inUse: limit - (unitsLeft[resourceClass] ?? 0) };
}

/** Whether a creation that is refused may recount first. */
export function mayRecount({ countedAt, countedArqs }: Quota, nowMs: number): boolean {
  const pauseMs = Math.max(recountPauseMs, countedArqs * pausePerArqMs);
  return countedArqs <= countedInPostMax && nowMs - Date.parse(countedAt) >= pauseMs;
}

/** Recent creations that a recount finds by the index alone. */
export function outdated({ recent }: Quota, nowMs: number): string[] {
  const newestFirst = Object.keys(recent).sort().reverse();
  return newestFirst.filter((uuid, index) => {
    const keptMs = index < recentMax ? recentMs : recentAtLeastMs;
    return nowMs - timeOfUuid(uuid) > keptMs;
  });
}

/** Whether a creation that is not stored may still be under way. */
export function isJustBegun(uuid: string, nowMs: number): boolean {
  return nowMs - timeOfUuid(uuid) < recountPauseMs;
}

/** ARQs that were imported have uuids that say nothing of the time. */
function createdAtMs({ uuid, createdAt }: Arq): number {
  return isTimeOrdered(uuid) ? timeOfUuid(uuid) : Date.parse(createdAt);
}

export interface Count {
  /** Limited resource class → units. */
  readonly inUse: Readonly<Record<string, number>>;
  /** Entries of `recent` that are not needed any more. */
  readonly settled: readonly string[];
  readonly countedArqs: number;
}

/**
 * What the project uses, so that creations that run meanwhile can be added: they change
 * `unitsLeft` and `recent` after both were read.
 *
 * @param readAtMs a moment before the quota was read: an ARQ that was made later, and is not
 *   recent, has taken its unit after the read
 * @param arqs the stored ARQs of the project
 * @param begun uuids of recent creations that may still store their ARQs
 */
export function countUse(
  quota: Quota,
  arqs: readonly Arq[],
  begun: ReadonlySet<string>,
  readAtMs: number,
): Count {
  const { recent } = quota;
  const counted = arqs.filter(
    (arq) => recent[arq.uuid] !== undefined || createdAtMs(arq) < readAtMs,
  );
  const classes = [
    // A bind takes the unit of another class before it stores that class.
    ...counted.flatMap(({ uuid, group }) => [
      ...new Set([countedClass(group), recent[uuid] ?? countedClass(group)]),
    ]),
    ...[...begun].map((uuid) => recent[uuid] ?? ''),
  ];
  const stored = new Set<string>(arqs.map(({ uuid }) => uuid));
  const old = new Set(outdated(quota, readAtMs));
  return {
    inUse: Object.fromEntries(
      Object.keys(quota.limits).map((resourceClass) => [
        resourceClass,
        classes.filter((each) => each === resourceClass).length,
      ]),
    ),
    settled: Object.keys(recent).filter(
      (uuid) => !begun.has(uuid) && (!stored.has(uuid) || old.has(uuid)),
    ),
    countedArqs: arqs.length,
  };
}
