// Usage: how long the projects used accelerators, by resource class and day. It is the sum of
// assignments, and a handle has one at a time: each begins at the claim, which is never before the
// release of the one before. So a second of an accelerator counts once, and the usage of a time is
// the sum of the usage of its parts. Pure.

import type { HistoryRecord } from '#core/domain/history/history.ts';

/** From `from` until just before `to`; milliseconds since 1970. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One accelerator that one instance had. */
export interface Assignment extends Span {
  readonly projectId: string;
  readonly resourceClass: string;
}

export interface Usage {
  readonly projectId: string;
  readonly resourceClass: string;
  /** In UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly acceleratorMs: number;
}

const dayMs = 24 * 60 * 60 * 1000;

/** Undefined for a release of which it is unknown who had the accelerator, and since when. */
export function endedAssignment(record: HistoryRecord): Assignment | undefined {
  const { at, since, projectId, resourceClass } = record;
  if (!since || !projectId || !resourceClass) return undefined;
  const fromMs = Date.parse(since);
  return { projectId, resourceClass, fromMs, toMs: Math.max(fromMs, Date.parse(at)) };
}

/** The key of an assignment: a handle is claimed once at a time. */
export function assignmentKey(handleUuid: string | undefined, since: string | undefined): string {
  return `${handleUuid} ${since}`;
}

/** Assignments that these records end, by their keys. */
export function endedAssignments(records: readonly HistoryRecord[]): Map<string, Assignment> {
  return new Map(
    records.flatMap((record) => {
      const assignment = endedAssignment(record);
      return assignment ? [[assignmentKey(record.handleUuid, record.since), assignment]] : [];
    }),
  );
}

/** The sums of several lists of usage, in the order of {@link sumUsage}. */
export function mergeUsage(all: Iterable<Usage>): Usage[] {
  const sums = new Map<string, Usage>();
  for (const { projectId, resourceClass, day, acceleratorMs } of all) {
    const key = `${projectId}\n${resourceClass}\n${day}`;
    const before = sums.get(key)?.acceleratorMs ?? 0;
    sums.set(key, { projectId, resourceClass, day, acceleratorMs: before + acceleratorMs });
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, usage]) => usage);
}

/** In the order of projects, classes and days; without days on which nothing was used. */
export function sumUsage(assignments: Iterable<Assignment>, span: Span): Usage[] {
  return mergeUsage(
    [...assignments].flatMap(({ projectId, resourceClass, ...used }) =>
      [...splitByDay(overlap(used, span))].map(({ day, ms: acceleratorMs }) => ({
        projectId,
        resourceClass,
        day,
        acceleratorMs,
      })),
    ),
  );
}

function overlap(one: Span, other: Span): Span {
  return {
    fromMs: Math.max(one.fromMs, other.fromMs),
    toMs: Math.min(one.toMs, other.toMs),
  };
}

function* splitByDay({
  fromMs,
  toMs,
}: Span): Generator<{ readonly day: string; readonly ms: number }> {
  for (let at = fromMs; at < toMs; ) {
    const nextDay = (Math.floor(at / dayMs) + 1) * dayMs;
    const end = Math.min(nextDay, toMs);
    yield { day: new Date(at).toISOString().slice(0, 10), ms: end - at };
    at = end;
  }
}
