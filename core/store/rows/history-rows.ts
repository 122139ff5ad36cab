// Rows of the history.

import * as z from 'zod';
import {
  daysKept,
  type HistoryPartition,
  type HistoryRecord,
  type HistorySubject,
  historyKinds,
} from '#core/domain/history/history.ts';
import { camelNamed, parseRow, snakeNamed } from './row-fields.ts';
import type { Row } from './rows.ts';

const secondsPerDay = 24 * 60 * 60;

const storedRecord = z.object({
  id: z.string(),
  at: z.string(),
  kind: z.enum(historyKinds),
  from: z.string().exactOptional(),
  to: z.string().exactOptional(),
  since: z.string().exactOptional(),
  hostname: z.string().exactOptional(),
  device_uuid: z.string().exactOptional(),
  provider_uuid: z.string().exactOptional(),
  handle_uuid: z.string().exactOptional(),
  resource_class: z.string().exactOptional(),
  arq_uuid: z.string().exactOptional(),
  arq_uuids: z.array(z.string()).exactOptional(),
  instance_uuid: z.string().exactOptional(),
  project_id: z.string().exactOptional(),
  profile_name: z.string().exactOptional(),
  by: z.string().exactOptional(),
  request_id: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  call: z
    .object({
      rule: z.string(),
      method: z.string(),
      path: z.string(),
      status: z.number(),
      project: z.string(),
      roles: z.array(z.string()),
      given: z.string().exactOptional(),
    })
    .exactOptional(),
  evidence: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).exactOptional(),
});

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
  const { id: _id, at: _at, ...rest } = record;
  const attributes: Record<string, unknown> = snakeNamed(rest);
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
  return camelNamed(parseRow(storedRecord, { ...key, id, at, ...row }));
}
