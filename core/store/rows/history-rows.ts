// Rows of the history.

import {
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
export function sortKeyOf({ at, id }: Pick<HistoryRecord, 'at' | 'id'>): string {
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
  const own = ownAttribute(partition);
  if (own !== undefined && attributes[own] === partition.key) delete attributes[own];
  return {
    pk: partitionKey(partition),
    sk: sortKeyOf(record),
    ...attributes,
    expires_at:
      Math.floor(Date.parse(record.at) / 1000) + daysKept(record, partition, days) * secondsPerDay,
  };
}

export function recordOf(row: Row, partition: HistoryPartition): HistoryRecord {
  const [at, id] = String(row.sk).split('#');
  const own = ownAttribute(partition);
  // A bind names all of its ARQs.
  const isNamed = own === undefined || (own === 'arq_uuid' && row.arq_uuids !== undefined);
  const key = isNamed ? {} : { [own]: partition.key };
  return fromRow(historyRecord, { ...key, id, at, ...row });
}
