// Assignments for the count of usage: those that ended, from the history, and those that last.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { heldHandles } from '#core/domain/arq/arq.ts';
import { joinRanges } from '#core/domain/capacity/measured-hosts.ts';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { lastingNow } from '#core/domain/quota/lasting-claims.ts';
import { type Assignment, assignmentKey, endedAssignments } from '#core/domain/quota/usage.ts';
import { present } from '#core/shapes/derive/present.ts';
import { readOfDay } from '#core/store/history/bind-counts.ts';
import type { HistoryReader } from '#core/store/history/history.ts';
import { dayMs } from '#functions/operator/range.ts';

/** Releases that one answer counts; some ten seconds of reading. */
export const releasesMax = 200_000;
/** More records than a megabyte has, so that none is read twice. */
const releasesPerPage = 5000;
const arqsPerPage = 1000;
/** A cloud of at most as many hosts has its claims read for each answer. */
const hostsReadMax = 20;
/** How long before its commit a change may have taken its time. */
const committedWithinMs = 120_000;

/** What one count reads of the history of a project, which has more than its releases. */
export interface ReadBudget {
  /** Pages of a megabyte; each costs 128 RRU. */
  readonly pages: number;
  readonly ms: number;
}

/**
 * Assignments that ended at `from` or later, and those that last, of one project or of all.
 *
 * @param from ISO 8601
 */
export async function readAssignments(
  deps: ConsumerDeps,
  project: string | undefined,
  from: string,
  nowMs: number,
  budget: ReadBudget,
): Promise<Assignment[] | 'too-many'> {
  // First those that last: one that ends meanwhile is in both, and is counted once.
  const lasting = await lastingAssignments(deps, project, nowMs);
  const ended = await readEnded(deps, project, from, nowMs, budget);
  if (ended === 'too-many') return ended;
  const all = new Map([...lasting, ...ended]);
  return [...all.values()];
}

async function readEnded(
  { history, clock }: ConsumerDeps,
  project: string | undefined,
  from: string,
  nowMs: number,
  budget: ReadBudget,
): Promise<[key: string, Assignment][] | 'too-many'> {
  const to = new Date(nowMs + 1).toISOString();
  const assignments: [string, Assignment][] = [];
  const parts =
    project === undefined
      ? releasesByDay(history, from, to)
      : releasesOfProject(history, project, from, withinBudget(clock, budget));
  for await (const records of parts) {
    if (records === 'too-many') return records;
    for (const assignment of endedAssignments(records)) assignments.push(assignment);
    if (assignments.length > releasesMax) return 'too-many';
  }
  return assignments;
}

/** In no order, so that no record is read twice: pages in the order of time re-read each part. */
async function* releasesByDay(history: HistoryReader, from: string, to: string) {
  for (const range of partsByDay(from, to))
    yield await readOfDay(history, 'handle.released', range);
}

function* partsByDay(from: string, to: string): Generator<{ from: string; to: string }> {
  for (let start = from; start < to; ) {
    const nextDay = new Date(Date.parse(start.slice(0, 10)) + dayMs).toISOString();
    const end = nextDay < to ? nextDay : to;
    yield { from: start, to: end };
    start = end;
  }
}

async function* releasesOfProject(
  history: HistoryReader,
  project: string,
  from: string,
  mayReadOn: (pages: number) => boolean,
) {
  const page = { limit: releasesPerPage, order: 'oldest-first', from } as const;
  const filter = { kind: 'handle.released' };
  let after: string | undefined;
  do {
    const partition = { subject: 'project', key: project } as const;
    const part = await history.read(partition, { ...page, filter, ...present({ after }) });
    yield part.records;
    after = part.next;
    if (after !== undefined && !mayReadOn(part.pages)) yield 'too-many' as const;
  } while (after !== undefined);
}

/** Takes the pages that were read; false when the budget is spent. */
function withinBudget(clock: () => number, { pages, ms }: ReadBudget) {
  const untilMs = clock() + ms;
  let left = pages;
  return (read: number) => {
    left -= read;
    return left > 0 && clock() < untilMs;
  };
}

/** Those of all projects of a large cloud are what the sweep has read, and the history since. */
export async function lastingAssignments(
  deps: ConsumerDeps,
  projectId: string | undefined,
  nowMs: number,
): Promise<Iterable<[key: string, Assignment]>> {
  if (projectId === undefined) {
    const measured = joinRanges(await deps.store.measuredClaims.ranges(), nowMs);
    if (measured && measured.hosts.length > hostsReadMax) {
      const from = new Date(Date.parse(measured.at) - committedWithinMs).toISOString();
      return lastingNow(measured.hosts, await readChanges(deps, from, nowMs), nowMs);
    }
  }
  return readLasting(deps, projectId, nowMs);
}

/** Claims and releases since. */
async function readChanges(
  { history }: ConsumerDeps,
  from: string,
  nowMs: number,
): Promise<HistoryRecord[]> {
  const to = new Date(nowMs + 1).toISOString();
  const records: HistoryRecord[] = [];
  for (const range of partsByDay(from, to)) {
    for (const kind of ['handle.claimed', 'handle.released'] as const) {
      records.push(...(await readOfDay(history, kind, range)));
    }
  }
  return records;
}

/** Each ARQ, and the claim of its handle. */
async function readLasting(
  { listings, store }: ConsumerDeps,
  projectId: string | undefined,
  nowMs: number,
): Promise<[key: string, Assignment][]> {
  const assignments: [string, Assignment][] = [];
  let marker: string | undefined;
  do {
    const page = { limit: arqsPerPage, sortKey: 'uuid', sortDir: 'asc' } as const;
    const arqs = await listings.arqs({ ...page, ...present({ marker }) }, present({ projectId }));
    const providers = await store.inventory.providersOf(heldHandles(arqs));
    for (const { uuid, claim } of providers.flatMap(({ handles }) => handles)) {
      if (!claim?.facts?.resourceClass) continue;
      const { at, resourceClass, projectId: holder } = claim.facts;
      const span = { fromMs: Date.parse(at), toMs: nowMs };
      assignments.push([assignmentKey(uuid, at), { projectId: holder, resourceClass, ...span }]);
    }
    marker = arqs.length < arqsPerPage ? undefined : arqs.at(-1)?.uuid;
  } while (marker !== undefined);
  return assignments;
}
