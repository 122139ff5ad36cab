// Rows of the history.

import * as z from 'zod';
import type { BindCount } from '#core/domain/history/bind-counts.ts';
import {
  briefDays,
  daysKept,
  type HistoryPartition,
  type HistoryRecord,
  type HistorySubject,
} from '#core/domain/history/history.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { historyRecord } from '#core/shapes/history-record.ts';
import { fromRow } from './row-fields.ts';
import type { Row } from './rows.ts';

const secondsPerDay = 24 * 60 * 60;

export function partitionKey({ subject, key }: HistoryPartition): string {
  return `${subject.toUpperCase()}#${key}`;
}

/** Records of one partition are in the order of time. */
export function sortKey({ at, id }: Pick<HistoryRecord, 'at' | 'id'>): string {
  return `${at}#${id}`;
}

/** The attribute that is left out where the partition's key says the same; a day has none. */
const ownAttributes = {
  arq: 'arq_uuid',
  instance: 'instance_uuid',
  device: 'device_uuid',
  host: 'hostname',
  project: 'project_id',
  profile: 'profile_name',
  kind: 'kind',
  day: undefined,
  ended: undefined,
} as const satisfies Record<HistorySubject, string | undefined>;

export function ownAttribute({ subject }: HistoryPartition): string | undefined {
  return ownAttributes[subject];
}

/**
 * Without what its key says: a record is stored some nine times, for a year and more.
 *
 * @param days how long it is kept
 */
export function historyRow(record: HistoryRecord, partition: HistoryPartition, days: number): Row {
  const { id: _id, at: _at, ...attributes }: Row = toWire(historyRecord, record);
  const shared = ownAttribute(partition);
  if (shared !== undefined && attributes[shared] === partition.key) delete attributes[shared];
  return {
    pk: partitionKey(partition),
    sk: sortKey(record),
    ...attributes,
    expires_at:
      Math.floor(Date.parse(record.at) / 1000) + daysKept(record, partition, days) * secondsPerDay,
  };
}

export function toRecord(row: Row, partition: HistoryPartition): HistoryRecord {
  const [at, id] = String(row.sk).split('#');
  const shared = ownAttribute(partition);
  // A bind names all of its ARQs.
  const isNamed = shared === undefined || (shared === 'arq_uuid' && row.arq_uuids !== undefined);
  const key = isNamed ? {} : { [shared]: partition.key };
  return fromRow(historyRecord, { ...key, id, at, ...row });
}

/** The last measurements of the fleet: one row each, without an end. */
export const fleetKey = (name: string) => ({ pk: 'FLEET#metrics', sk: name });

/** Sums of usage, by the hour and by the day in which claims ended; a large one has more rows. */
export const usageHoursKey = (hour: string, row = 0) => ({
  pk: 'USAGE#hours',
  sk: `${hour}#${String(row).padStart(2, '0')}`,
});
export const usageDaysKey: typeof usageHoursKey = (day, row) => ({
  pk: 'USAGE#days',
  sk: usageHoursKey(day, row).sk,
});

const bindCountFields = z.object({ bound: z.int(), failed: z.int() });

/** Counts of binds are one partition, in the order of the hours. */
export const bindCountKey = (hour: string) => ({ pk: 'BINDS#hours', sk: hour });

export function bindCountRow({ hour, bound, failed }: BindCount): Row {
  const expires_at = Math.floor(Date.parse(hour) / 1000) + briefDays * secondsPerDay;
  return { ...bindCountKey(hour), bound, failed, expires_at };
}

export function toBindCount(row: Row): BindCount {
  return { hour: String(row.sk), ...fromRow(bindCountFields, row) };
}
