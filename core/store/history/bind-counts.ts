// The counts of binds by hour: read from the history once, and kept when the hour is settled.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import {
  type BindCount,
  countBinds,
  hourAfter,
  hourMs,
  hoursBetween,
  settledAfterMs,
} from '#core/domain/history/bind-counts.ts';
import {
  type HistoryKind,
  type HistoryPartition,
  type HistoryRecord,
  partsOfDay,
} from '#core/domain/history/history.ts';
import { present } from '#core/shapes/derive/present.ts';
import { bindCountKey, bindCountRow, toBindCount } from '#core/store/rows/history-rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { queryAll } from '#core/store/table/reads.ts';
import { type HistoryReader, historyReader } from './history.ts';

interface BindCounts {
  /** The newest hour first. */
  readonly counts: readonly BindCount[];
  /** Where the time was too short: the end of the hours that are left. */
  readonly next?: string;
}

export interface BindCountStore {
  /** The hours that have a part of the range. Each reading takes at least one that is left. */
  read(
    range: { readonly from: string; readonly to: string },
    clock: () => number,
  ): Promise<BindCounts>;
}

/** The gateway waits 30 s, and the last hour may take a few of them. */
const readingMsMax = 8000;
const pageMax = 5000;

export function bindCountStore(client: Documents, table: string): BindCountStore {
  const history = historyReader(client, table);

  async function keep(count: BindCount): Promise<void> {
    // The same history gives the same count, so a second put changes nothing.
    await client.send(new PutCommand({ TableName: table, Item: bindCountRow(count) }));
  }

  return {
    async read({ from, to }, clock) {
      const startedMs = clock();
      const hours = hoursBetween(from, to);
      const rows = await queryAll(client, {
        TableName: table,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
        ExpressionAttributeValues: {
          ':pk': bindCountKey('').pk,
          ':first': hours.at(-1),
          ':last': hours[0],
        },
      });
      const kept = new Map(rows.map((row) => [row.sk, toBindCount(row)]));
      const counts: BindCount[] = [];
      let hasRead = false;
      for (const hour of hours) {
        const earlier = kept.get(hour);
        if (!earlier && hasRead && clock() - startedMs > readingMsMax) {
          return { counts, next: hourAfter(hour) };
        }
        const count = earlier ?? (await countHour(history, hour));
        hasRead ||= !earlier;
        counts.push(count);
        const isSettled = clock() > Date.parse(hour) + hourMs + settledAfterMs;
        if (!earlier && isSettled) await keep(count);
      }
      return { counts };
    },
  };
}

async function countHour(history: HistoryReader, hour: string): Promise<BindCount> {
  const range = { from: hour, to: hourAfter(hour) };
  const claims = readOfDay(history, 'handle.claimed', range);
  const failures = readFailed(history, range, settledAfterMs);
  return countBinds(hour, await claims, await failures);
}

interface TimeRange {
  readonly from: string;
  readonly to: string;
}

/** All records of a kind within a range that is within one day. */
export async function readOfDay(
  history: HistoryReader,
  kind: HistoryKind,
  range: TimeRange,
): Promise<HistoryRecord[]> {
  const parts = partsOfDay(range.from.slice(0, 10)).map((part) =>
    readWhole(history, part, { ...range, filter: { kind } }),
  );
  return (await Promise.all(parts)).flat();
}

/** All failed binds of the range, and of the time after it. */
export async function readFailed(
  history: HistoryReader,
  { from, to }: TimeRange,
  afterMs: number,
): Promise<HistoryRecord[]> {
  const until = new Date(Date.parse(to) + afterMs).toISOString();
  const failed = { subject: 'kind', key: 'bind.failed' } as const;
  return readWhole(history, failed, { from, to: until, filter: {} });
}

async function readWhole(
  history: HistoryReader,
  partition: HistoryPartition,
  page: { readonly from: string; readonly to: string; readonly filter: Record<string, string> },
): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = [];
  let after: string | undefined;
  do {
    const part = await history.read(partition, {
      ...page,
      limit: pageMax,
      order: 'oldest-first',
      ...present({ after }),
    });
    records.push(...part.records);
    after = part.next;
  } while (after !== undefined);
  return records;
}
