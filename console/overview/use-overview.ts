// What the overview asks the API for: lists and sums that other screens show, too.

import type {
  Binds,
  Capacity,
  FleetReport,
  HostCapacity,
  Incident,
  Usage,
} from '#console/api/answers.ts';
import type { Api } from '#console/api/client.ts';
import { ApiFailure } from '#console/api/failure.ts';
import { readAll } from '#console/api/pages.ts';
import { type CapacitySum, capacitySum } from '#console/capacity/capacity-sum.ts';
import { type Live, useLive } from '#console/parts/use-live.ts';
import { lists } from '#core/contracts/api/lists/lists.ts';
import { storedKinds } from '#core/domain/history/incidents.ts';
import { present } from '#core/shapes/derive/present.ts';
import { hourMs } from './fleet-use.ts';

/** A profile, or a class as a profile that asks for one accelerator of it. */
export interface Question {
  readonly name: string;
  readonly query: { readonly profile: string } | { readonly groups: string };
}

export const askForClass = (name: string): Question => ({
  name,
  query: { groups: JSON.stringify([{ [`resources:${name}`]: '1' }]) },
});
export const askForProfile = (name: string): Question => ({ name, query: { profile: name } });

export type Sums = ReadonlyMap<string, CapacitySum>;

interface CapacityTiming {
  readonly everyMs: number;
  readonly isWaiting: boolean;
}

/** One question after the other: each looks at all hosts. */
export function useCapacity(questions: readonly Question[], timing: CapacityTiming): Live<Sums> {
  const key = `capacity of ${JSON.stringify(questions)}`;
  return useLive<Sums>(key, timing, async ({ session: { api }, signal, show }) => {
    const sums = new Map<string, CapacitySum>();
    const showSum = (name: string, sum: CapacitySum) => {
      sums.set(name, sum);
      show(new Map(sums));
    };
    for (const { name, query } of questions) {
      const sum = await readSum(api, query, signal, (soFar) => showSum(name, soFar));
      if (sum) showSum(name, sum);
    }
    return sums;
  });
}

/** Hosts of one request, each of which reads all handles of a host. */
const pageRows = 200;

/** Undefined for a profile that was deleted meanwhile. @throws ApiFailure */
async function readSum(
  api: Api,
  query: Question['query'],
  signal: AbortSignal,
  onPage: (soFar: CapacitySum) => void,
): Promise<CapacitySum | undefined> {
  const listing = { path: '/operator/v1/capacity', collection: 'hosts', pageRows, query, signal };
  try {
    const first = await api.ask<Capacity>('GET', listing.path, {
      query: { ...query, limit: pageRows },
      signal,
    });
    if ('total' in first && first.total) {
      const { fits, stopped_by: stoppedBy } = first.total;
      return { fits, stoppedBy, ...present({ measuredAt: first.measured_at ?? undefined }) };
    }
    const { rows, failure } = await readAll<HostCapacity>(api, listing, (soFar) =>
      onPage(capacitySum(soFar.rows)),
    );
    if (failure) throw failure;
    return capacitySum(rows);
  } catch (error) {
    if (error instanceof ApiFailure && error.kind === 'not-found') return undefined;
    throw error;
  }
}

/** Each reading looks at all requests that hold accelerators. */
export const usageEveryMs = 300_000;

/** The last hour, not the last minute: a browser's clock may be off by minutes. */
export function useLastHour(isWaiting: boolean): Live<Usage> {
  const timing = { everyMs: usageEveryMs, isWaiting };
  return useLive('usage of the last hour', timing, ({ session, signal }) =>
    session.api.ask('GET', lists.usage.path, {
      query: { from: new Date(Date.now() - hourMs).toISOString() },
      signal,
    }),
  );
}

/** The binds by hour, the newest hour first. Of hours long ago the API has kept the counts. */
export function useBinds(from: string, everyMs: number): Live<Binds['binds']> {
  return useLive(`binds since ${from}`, { everyMs }, async ({ session, signal, show }) => {
    const binds: Binds['binds'] = [];
    let to: string | undefined;
    do {
      const query = { from, ...present({ to }) };
      const page = await session.api.ask<Binds>('GET', '/operator/v1/binds', { query, signal });
      binds.push(...page.binds);
      show([...binds]);
      to = page.next ?? undefined;
    } while (to !== undefined);
    return binds;
  });
}

export const reportEveryMs = 600_000;

/** The fleet since the first of the month, by day. */
export function useReport(isWaiting: boolean): Live<FleetReport> {
  const timing = { everyMs: reportEveryMs, isWaiting };
  return useLive('report of the month', timing, ({ session, signal }) =>
    session.api.ask('GET', '/operator/v1/report', { signal }),
  );
}

interface Incidents {
  readonly rows: readonly Incident[];
  /** There may be more than these. */
  readonly hasMore: boolean;
}

export const incidentsEveryMs = 60_000;
export const worstMax = 5;
const incidentsOfRequest = 200;

/**
 * Incidents in the order of their kinds. One request has all of a small cloud. Of a large one it
 * may have looked at too few hosts, and then each kind has a request, of which none is read on.
 */
export function useIncidents(): Live<Incidents> {
  return useLive(
    'worst incidents',
    { everyMs: incidentsEveryMs },
    async ({ session, signal, show }) => {
      const read = (kind?: string) => readIncidents(session.api, kind, signal);
      const first = await read();
      if (!first.hasMore || first.rows.length >= worstMax) return first;
      const pages: Incidents[] = [];
      const together = () => ({
        rows: pages.flatMap(({ rows }) => rows),
        hasMore: pages.some((page) => page.hasMore),
      });
      await Promise.all(
        storedKinds.map(async (kind, place) => {
          pages[place] = await read(kind);
          show({ ...together(), hasMore: true });
        }),
      );
      return together();
    },
  );
}

async function readIncidents(
  api: Api,
  kind: string | undefined,
  signal: AbortSignal,
): Promise<Incidents> {
  const query = { limit: incidentsOfRequest, ...present({ kind }) };
  const answer = await api.ask<{ incidents: Incident[]; incidents_links?: unknown[] }>(
    'GET',
    lists.incidents.path,
    { query, signal },
  );
  return { rows: answer.incidents, hasMore: answer.incidents_links !== undefined };
}
