// The history: an append-only record of each change of a device, an attach handle, an ARQ, a host
// and a device profile. history-of-change.ts derives the records from the tables' streams.

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { historyRecord } from '#core/shapes/history-record.ts';
import type { historyKinds } from '#core/shapes/vocabulary/history-kinds.ts';

export type HistoryKind = (typeof historyKinds)[number];

export type HistoryRecord = Shaped<typeof historyRecord>;

/** A record before it has an id; without a time of its own it has the commit's. */
export type Draft = Omit<HistoryRecord, 'id' | 'at'> & { readonly at?: string | undefined };

/** The one of several subjects by which a history is read. */
const historySubjects = [
  'arq',
  'instance',
  'device',
  'host',
  'project',
  'profile',
  'kind',
  'day',
  'ended',
] as const;
export type HistorySubject = (typeof historySubjects)[number];

/** A partition of the history's table. */
export interface HistoryPartition {
  readonly subject: HistorySubject;
  readonly key: string;
}

/**
 * Where a record is stored, once in each: every copy costs one write, so an ARQ's creation is with
 * the ARQ only, and a claim is with the instance where its release is with the ARQ: each names the
 * other's subject.
 * Records of a kind are also together, so that an operator reads no others to find them, or to see
 * that there are none. Of {@link frequentKinds} each day has as many as it has servers.
 * Ends of incidents are together, too: `partitionsOfEnd` in ended-incidents.ts.
 * A device's records are with its host. `device` holds its first and last record, which name the
 * host when the device's row is deleted.
 */
export function partitionsFor(record: HistoryRecord): HistoryPartition[] {
  const { kind, hostname, projectId, instanceUuid, arqUuid, arqUuids, deviceUuid } = record;
  const arqs = arqUuids ?? (arqUuid ? [arqUuid] : []);
  const arqPartitions = arqs.map((key) => ({ subject: 'arq', key }) as const);
  if (kind.startsWith('arq.')) return arqPartitions;
  return [
    ...(kind === 'handle.claimed' && instanceUuid ? [] : arqPartitions),
    ...partition('instance', kind === 'handle.released' ? undefined : instanceUuid),
    ...partition('host', hostname),
    ...partition('project', projectId),
    ...partition('device', /^device\.(added|removed)$/.test(kind) ? deviceUuid : undefined),
    ...partition('profile', kind.startsWith('profile.') ? record.profileName : undefined),
    ...partition('kind', frequentKinds.test(kind) ? undefined : kind),
    { subject: 'day', key: dayPart(record.at, record.id) },
  ];
}

/**
 * Kinds without a partition of their own: servers and attach handles have them by the hundred
 * thousand, which would cost each server a write, and one partition cannot take.
 */
const frequentKinds = /^(bind|handle)\.(?!failed|quarantined|reinstated)/;

/** Where all records of the kind are; undefined where only days have them. */
export function partitionsOfKind(kind: HistoryKind): HistoryPartition[] | undefined {
  if (kind.startsWith('arq.')) return [];
  return frequentKinds.test(kind) ? undefined : [{ subject: 'kind', key: kind }];
}

export const endedIncidents = { subject: 'ended', key: 'incidents' } as const;

/** Longer than the 31 days that one question to the whole history covers. */
export const briefDays = 35;

/**
 * How long a copy of a record is kept. The end of a claim has its beginning in it, so the copies
 * of claims by which projects and days are listed go sooner than those of the host and the
 * instance. So does the copy of an incident's end: the list goes back a month.
 */
export function daysKept(
  { kind }: Pick<HistoryRecord, 'kind'>,
  { subject }: HistoryPartition,
  days: number,
): number {
  const isRepeated =
    subject === 'ended' ||
    (kind === 'handle.claimed' && (subject === 'project' || subject === 'day'));
  return isRepeated ? Math.min(briefDays, days) : days;
}

function partition(subject: HistorySubject, key: string | undefined): HistoryPartition[] {
  return key === undefined ? [] : [{ subject, key }];
}

const shards = [...'0123456789abcdef'];

/** One of 16 parts of a day, so that a busy cloud does not write to one partition only. */
function dayPart(at: string, id: string): string {
  return `${at.slice(0, 10)}#${id.at(-1) ?? '0'}`;
}

/** All parts of a day in UTC, `YYYY-MM-DD`. */
export function partsOfDay(day: string): HistoryPartition[] {
  return shards.map((shard) => ({ subject: 'day', key: `${day}#${shard}` }));
}
