// What changes seldom of a host: the row by which hosts are listed, and from whose changes the
// history of a host follows. The host's own row changes with each heartbeat, so it is in no index.

import { isDeepStrictEqual } from 'node:util';
import type { Shaped } from '#core/shapes/derive/case.ts';
import type { hostSummary } from '#core/shapes/host.ts';
import { settledSeconds } from './clock-skew.ts';
import type { Presence, StoredHost } from './host.ts';

export type HostSummary = Shaped<typeof hostSummary>;

/** The numbers of a host's devices after a report has been applied. */
export type DeviceCounts = Pick<HostSummary, 'devices' | 'notOffered'>;

/** The fields that one writer owns; undefined removes a field. */
type SummaryFields = {
  readonly [Name in Exclude<keyof HostSummary, 'hostname' | 'firstSeen'>]?:
    | HostSummary[Name]
    | undefined;
};

/** The fields of one writer. A later order replaces an earlier one. */
export interface SummaryPart {
  readonly source: 'report' | 'presence' | 'placement';
  readonly order: string;
  readonly fields: SummaryFields;
}

/**
 * The parts of the stored summary that differ from the host's row.
 *
 * @param counts after a report was applied
 */
export function staleParts(
  host: StoredHost,
  summary: HostSummary | undefined,
  counts: DeviceCounts | undefined,
): SummaryPart[] {
  const { presence } = host;
  const isReported = counts !== undefined || host.conflict !== undefined;
  const report = { source: 'report', order: reportOrder(host) } as const;
  const parts: SummaryPart[] = [
    ...(isReported ? [{ ...report, fields: { ...reportFields(host, summary), ...counts } }] : []),
    ...(presence ? [presencePart(presence)] : []),
  ];
  return parts.filter(({ fields }) => !agrees(summary, fields));
}

function presencePart({ isConnected, at: since, order = 0 }: Presence): SummaryPart {
  return { source: 'presence', order: padded(order), fields: { presence: { isConnected, since } } };
}

/** Providers that Placement lacks, as of a look at that time in ms; undefined for none. */
export function lostPart(lost: HostSummary['lostProviders'], lookedAtMs: number): SummaryPart {
  return { source: 'placement', order: padded(lookedAtMs), fields: { lostProviders: lost } };
}

/**
 * Reports of different boots are ordered by the time of receipt, and those of one boot by their
 * sequence, too; a conflict follows the last report. A host that was forgotten begins later.
 */
function reportOrder({ lastReceivedAtMs, sequence, conflict }: StoredHost): string {
  return `${padded(lastReceivedAtMs)}#${padded(Math.max(sequence, 0))}#${conflict ? 1 : 0}`;
}

/** Numbers as text in their order. */
function padded(number: number): string {
  return String(number).padStart(16, '0');
}

function reportFields(host: StoredHost, summary: HostSummary | undefined): SummaryFields {
  const { agentVersion, bootId, bootedAt, conflict, clock } = host;
  const clockAheadSeconds = clock && settledSeconds(clock, summary?.clockAheadSeconds);
  return { agentVersion, bootId, bootedAt, conflictSince: conflict?.since, clockAheadSeconds };
}

function agrees(summary: HostSummary | undefined, fields: SummaryFields): boolean {
  const names = Object.keys(fields) as (keyof SummaryFields)[];
  return (
    summary !== undefined && names.every((name) => isDeepStrictEqual(summary[name], fields[name]))
  );
}

/** The summary with a part that was written. */
export function withPart(
  hostname: string,
  summary: HostSummary | undefined,
  { fields }: SummaryPart,
  now: string,
): HostSummary {
  const kept = { hostname, firstSeen: now, devices: 0, notOffered: 0, ...summary, ...fields };
  const present = Object.entries(kept).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as unknown as HostSummary;
}
