// Sums of usage by the hour and by the day in which claims ended: read from the history once, and
// kept. An hour is kept when it is settled, counted again when no stream can deliver a record of
// it any more, and then becomes part of its day. The same history gives the same sums, so that a
// repeated or concurrent put changes nothing.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { hourAfter, hourMs, settledAfterMs } from '#core/domain/history/bind-counts.ts';
import { briefDays, type HistoryRecord } from '#core/domain/history/history.ts';
import { endedAssignments, mergeUsage, sumUsage, type Usage } from '#core/domain/quota/usage.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { usageDaysKey, usageHoursKey } from '#core/store/rows/history-rows.ts';
import { fromRow } from '#core/store/rows/row-fields.ts';
import type { Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { queryAll } from '#core/store/table/reads.ts';
import { readOfDay } from './bind-counts.ts';
import { historyReader } from './history.ts';

export interface EndedUsage {
  /** The usage of claims that ended in hours that are settled. */
  readonly usage: readonly Usage[];
  /** Releases since. */
  readonly releases: readonly HistoryRecord[];
}

export interface UsageSumStore {
  /**
   * All claims that ended since the midnight. The hours and days without sums are counted and
   * kept.
   *
   * @param from a midnight in UTC; ISO 8601
   */
  read(from: string, about: UsageReading): Promise<EndedUsage | 'too-many'>;
  /** Keeps the sum of the last hour that is settled, and of the last that gets no more records. */
  keepHours(nowMs: number): Promise<void>;
  /** The kept sum of the last hour that gets no more records, and its count from the history. */
  compareHour(nowMs: number): Promise<ComparedHour>;
}

interface ComparedHour {
  readonly hour: string;
  /** Undefined where it is not kept, or not counted since the last records came. */
  readonly kept?: readonly Usage[];
  readonly counted: readonly Usage[];
}

export interface UsageReading {
  readonly nowMs: number;
  /** How long the sums of a day are kept. */
  readonly daysKept: number;
  /** Releases that are read at most. */
  readonly releasesMax: number;
}

const dayMs = 24 * hourMs;
const secondsPerDay = 86_400;
/** Streams keep their records for a day: later than this after its end an hour gets no record. */
const deliveredAfterMs = 24 * hourMs;
/** A row has at most 400 KB. */
const entriesPerRow = 1500;
const rowsMax = 20;

const entry = z.object({
  project_id: z.string(),
  resource_class: z.string(),
  day: z.string(),
  accelerator_ms: z.number(),
});
const sumRow = z.object({
  /** The number of rows that the sum has. */
  rows: z.int(),
  /** ISO 8601. */
  counted_at: z.string(),
  usage: z.array(entry),
});

interface Sum {
  readonly countedAt: string;
  readonly usage: readonly Usage[];
}

export function usageSumStore(client: Documents, table: string): UsageSumStore {
  const history = historyReader(client, table);

  async function readSums(pk: string, first: string, last: string): Promise<Map<string, Sum>> {
    const rows = await queryAll(client, {
      TableName: table,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: { ':pk': pk, ':first': first, ':last': `${last}~` },
    });
    return toSums(rows);
  }

  async function keep(
    keyOf: typeof usageHoursKey,
    period: string,
    { countedAt, usage }: Sum,
    expiresAt: number,
  ): Promise<void> {
    const count = Math.max(1, Math.ceil(usage.length / entriesPerRow));
    // A sum that is larger is counted each time.
    if (count > rowsMax) return;
    // Rows of another count have another time, so that no transaction is needed.
    for (let index = 0; index < count; index += 1) {
      const part = usage.slice(index * entriesPerRow, (index + 1) * entriesPerRow);
      const fields = toWire(sumRow, { rows: count, countedAt, usage: part });
      const Item = { ...keyOf(period, index), ...fields, expires_at: expiresAt };
      await client.send(new PutCommand({ TableName: table, Item }));
    }
  }

  async function readFinal(hour: string): Promise<Sum | undefined> {
    const sum = (await readSums(usageHoursKey('').pk, hour, hour)).get(hour);
    return isFinal(hour, sum) ? sum : undefined;
  }

  const readReleases = (from: string, to: string) =>
    readOfDay(history, 'handle.released', { from, to });

  async function keepHour(hour: string, releases: readonly HistoryRecord[], nowMs: number) {
    const usage = sumReleases(releases);
    const sum = { countedAt: new Date(nowMs).toISOString(), usage };
    await keep(usageHoursKey, hour, sum, expiry(hour, briefDays));
    return usage;
  }

  async function countHour(hour: string, nowMs: number): Promise<void> {
    await keepHour(hour, await readReleases(hour, hourAfter(hour)), nowMs);
  }

  /** A day without late records: the sum of its hours, if each was counted after they came. */
  async function countDay(
    day: string,
    hours: ReadonlyMap<string, Sum>,
    { nowMs, daysKept }: { readonly nowMs: number; readonly daysKept: number },
  ): Promise<Counted> {
    const own = startsBetween(day, Date.parse(dayAfter(day)), hourMs);
    const sums = own.flatMap((hour) => {
      const sum = hours.get(hour);
      return isFinal(hour, sum) ? [sum] : [];
    });
    const isSummed = sums.length === own.length;
    const releases = isSummed ? [] : await readReleases(day, dayAfter(day));
    const usage = isSummed ? mergeUsage(sums.flatMap((sum) => sum.usage)) : sumReleases(releases);
    const sum = { countedAt: new Date(nowMs).toISOString(), usage };
    await keep(usageDaysKey, day, sum, expiry(day, daysKept));
    return { usage, releases: [], count: releases.length };
  }

  /** A day that may still get records: the hours that are settled have sums. */
  async function countHours(
    day: string,
    hours: ReadonlyMap<string, Sum>,
    nowMs: number,
  ): Promise<Counted> {
    const own = startsBetween(day, Math.min(nowMs + 1, Date.parse(dayAfter(day))), hourMs);
    const usage = own.flatMap((hour) => hours.get(hour)?.usage ?? []);
    const missing = own.filter((hour) => !hours.has(hour));
    const [first] = missing;
    const read = first ? await readReleases(first, dayAfter(day)) : [];
    const byHour = Map.groupBy(read, ({ at }) => lastEnded(Date.parse(at) + hourMs));
    const releases: HistoryRecord[] = [];
    for (const hour of missing) {
      const ended = byHour.get(hour) ?? [];
      if (isSettled(hour, nowMs)) usage.push(...(await keepHour(hour, ended, nowMs)));
      else releases.push(...ended);
    }
    return { usage, releases, count: read.length };
  }

  return {
    async read(from, { nowMs, daysKept, releasesMax }) {
      const now = new Date(nowMs).toISOString();
      const days = startsBetween(from, nowMs, dayMs);
      const kept = await readSums(usageDaysKey('').pk, from, now);
      const missing = days.filter((day) => !kept.has(day));
      const [first] = missing;
      const hours = first ? await readSums(usageHoursKey('').pk, first, now) : new Map();
      const usage = [...kept.values()].flatMap((sum) => sum.usage);
      const releases: HistoryRecord[] = [];
      let count = 0;
      for (const day of missing) {
        const counted = isDelivered(dayAfter(day), nowMs - hourMs)
          ? await countDay(day, hours, { nowMs, daysKept })
          : await countHours(day, hours, nowMs);
        usage.push(...counted.usage);
        releases.push(...counted.releases);
        count += counted.count;
        if (count > releasesMax) return 'too-many';
      }
      return { usage, releases };
    },

    async keepHours(nowMs) {
      const settled = lastEnded(nowMs - settledAfterMs - 1);
      const delivered = lastEnded(nowMs - deliveredAfterMs);
      const kept = await readSums(usageHoursKey('').pk, settled, settled);
      if (!kept.has(settled)) await countHour(settled, nowMs);
      if (!(await readFinal(delivered))) await countHour(delivered, nowMs);
    },

    async compareHour(nowMs) {
      const hour = lastEnded(nowMs - deliveredAfterMs);
      const sum = await readFinal(hour);
      const counted = sumReleases(await readReleases(hour, hourAfter(hour)));
      return { hour, counted, ...present({ kept: sum?.usage }) };
    },
  };
}

interface Counted extends EndedUsage {
  /** Releases that were read. */
  readonly count: number;
}

function sumReleases(releases: readonly HistoryRecord[]): Usage[] {
  const all = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  return sumUsage(endedAssignments(releases).values(), all);
}

/** Whether the hour was counted when no stream could deliver a record of it any more. */
function isFinal(hour: string, sum: Sum | undefined): sum is Sum {
  return sum !== undefined && isDelivered(hourAfter(hour), Date.parse(sum.countedAt));
}

/** Whether no stream can deliver a record of the time before `end` any more. */
function isDelivered(end: string, nowMs: number): boolean {
  return Date.parse(end) + deliveredAfterMs <= nowMs;
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + dayMs).toISOString();
}

function isSettled(hour: string, nowMs: number): boolean {
  return Date.parse(hour) + hourMs + settledAfterMs < nowMs;
}

/** The start of the last hour that has ended at that time. */
function lastEnded(atMs: number): string {
  return new Date(Math.floor(atMs / hourMs) * hourMs - hourMs).toISOString();
}

function startsBetween(from: string, toMs: number, stepMs: number): string[] {
  const starts: string[] = [];
  for (let ms = Date.parse(from); ms < toMs; ms += stepMs) starts.push(new Date(ms).toISOString());
  return starts;
}

function expiry(period: string, days: number): number {
  return Math.floor(Date.parse(period) / 1000) + days * secondsPerDay;
}

/** Sums of which all rows are of one count: a writer may have died between two of them. */
function toSums(rows: readonly Row[]): Map<string, Sum> {
  const parts = Map.groupBy(rows, ({ sk }) => String(sk).split('#')[0] ?? '');
  const sums = new Map<string, Sum>();
  for (const [period, each] of parts) {
    const read = each.map((row) => fromRow(sumRow, row));
    const [first] = read;
    const ofCount = read.filter(
      ({ rows: count, countedAt }) => count === first?.rows && countedAt === first.countedAt,
    );
    if (!first || ofCount.length < first.rows) continue;
    sums.set(period, { countedAt: first.countedAt, usage: ofCount.flatMap(({ usage }) => usage) });
  }
  return sums;
}
