// Pages of several partitions of the history as one, in the order of time.

import { type HistoryPartition, partsOfDay } from '#core/domain/history/history.ts';
import { present } from '#core/shapes/derive/present.ts';
import { sortKey } from '#core/store/rows/history-rows.ts';
import type { HistoryPage, HistoryPart, HistoryReader } from './history.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** A record that is in several of the partitions is given once. */
export async function readTogether(
  reader: HistoryReader,
  partitions: readonly HistoryPartition[],
  page: HistoryPage,
): Promise<HistoryPart> {
  const parts = await Promise.all(partitions.map((each) => reader.read(each, page)));
  const isBefore = (one: string, other: string) =>
    page.order === 'oldest-first' ? one < other : one > other;
  // Beyond the end of what was read of one partition, that one may have more.
  const [bound] = parts
    .flatMap(({ next }) => next ?? [])
    .sort((one, other) => (isBefore(one, other) ? -1 : 1));
  const byKey = new Map(
    parts.flatMap(({ records }) => records.map((each) => [sortKey(each), each] as const)),
  );
  const keys = [...byKey.keys()]
    .filter((key) => bound === undefined || !isBefore(bound, key))
    .sort((one, other) => (isBefore(one, other) ? -1 : 1));
  const shown = keys.slice(0, page.limit);
  const isCut = shown.length < keys.length;
  const next = isCut ? shown.at(-1) : bound;
  return { records: shown.flatMap((key) => byKey.get(key) ?? []), ...present({ next }) };
}

/** All records of a range of time, a day after the other; `from` and `to` are in ISO 8601. */
export async function readDays(
  reader: HistoryReader,
  { from, to }: { readonly from: string; readonly to: string },
  page: HistoryPage,
): Promise<HistoryPart> {
  const days = daysBetween(from, to);
  if (page.order === 'newest-first') days.reverse();
  const isLeft = (day: string) =>
    page.after === undefined ||
    (page.order === 'oldest-first'
      ? day >= page.after.slice(0, 10)
      : day <= page.after.slice(0, 10));
  const records: HistoryPart['records'][number][] = [];
  for (const day of days.filter(isLeft)) {
    const limit = page.limit - records.length;
    const part = await readTogether(reader, partsOfDay(day), { ...page, from, to, limit });
    records.push(...part.records);
    if (part.next !== undefined) return { records, next: part.next };
    const last = records.at(-1);
    if (last && records.length === page.limit) return { records, next: sortKey(last) };
  }
  return { records };
}

/** Days in UTC, `YYYY-MM-DD`, that have a part of the range. */
function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let ms = Date.parse(from.slice(0, 10)); ms < Date.parse(to); ms += dayMs) {
    days.push(new Date(ms).toISOString().slice(0, 10));
  }
  return days;
}
