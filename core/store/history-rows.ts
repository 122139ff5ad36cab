// Rows of the history.

import * as z from 'zod';
import { type HistoryPartition, type HistoryRecord, historyKinds } from '../domain/history.ts';
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
  evidence: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).exactOptional(),
});

export function partitionKey({ subject, key }: HistoryPartition): string {
  return `${subject.toUpperCase()}#${key}`;
}

/** Records of one partition are in the order of time. */
export function sortKeyOf({ at, id }: Pick<HistoryRecord, 'at' | 'id'>): string {
  return `${at}#${id}`;
}

/** @param days how long it is kept */
export function historyRow(record: HistoryRecord, partition: HistoryPartition, days: number): Row {
  return {
    pk: partitionKey(partition),
    sk: sortKeyOf(record),
    ...snakeNamed(record),
    expires_at: Math.floor(Date.parse(record.at) / 1000) + days * secondsPerDay,
  };
}

export function recordOf(row: Row): HistoryRecord {
  return camelNamed(parseRow(storedRecord, row));
}
