// What changes seldom of a host: the row by which hosts are listed, and from whose changes the
// history of a host follows. The host's own row changes with each heartbeat, so it is in no index.

import { isDeepStrictEqual } from 'node:util';
import type { StoredHost } from './report-plan.ts';

export interface HostSummary {
  readonly hostname: string;
  /** When its agent first connected or reported; ISO 8601. */
  readonly firstSeen: string;
  readonly agentVersion?: string;
  readonly bootId?: string;
  readonly bootedAt?: string;
  readonly presence?: { readonly isConnected: boolean; readonly since: string };
  readonly conflictSince?: string;
  /** Devices that its last report named. */
  readonly devices: number;
  /** Devices that its settings name and that it does not offer. */
  readonly notOffered: number;
}

/** The numbers of a host's devices after a report has been applied. */
export type DeviceCounts = Pick<HostSummary, 'devices' | 'notOffered'>;

/** The fields that one writer owns; undefined removes a field. */
export type SummaryFields = {
  readonly [Name in Exclude<keyof HostSummary, 'hostname' | 'firstSeen'>]?:
    | HostSummary[Name]
    | undefined;
};

/**
 * Fields to write, and what the host's row must still hold then: a late writer changes nothing.
 */
export interface SummaryPart {
  readonly fields: SummaryFields;
  readonly holds:
    | { readonly leaseHolder: string }
    | { readonly presence: NonNullable<StoredHost['presence']> }
    | { readonly conflictSince: string };
}

/**
 * The parts of the stored summary that differ from the host's row.
 *
 * @param applied by the holder of the host's lease, after a report: the other fields of the
 *   summary are that holder's
 */
export function staleParts(
  host: StoredHost,
  summary: HostSummary | undefined,
  applied?: DeviceCounts & { readonly holder: string },
): SummaryPart[] {
  const { presence, conflict } = host;
  const parts: SummaryPart[] = [];
  if (applied) {
    const { holder, ...counts } = applied;
    const fields = { ...reportFields(host), ...counts };
    parts.push({ fields, holds: { leaseHolder: holder } });
  } else if (conflict) {
    const fields = { conflictSince: conflict.since };
    parts.push({ fields, holds: { conflictSince: conflict.since } });
  }
  if (presence) {
    const { isConnected, at: since } = presence;
    parts.push({ fields: { presence: { isConnected, since } }, holds: { presence } });
  }
  return parts.filter(({ fields }) => !agrees(summary, fields));
}

function reportFields({ agentVersion, bootId, bootedAt, conflict }: StoredHost): SummaryFields {
  return { agentVersion, bootId, bootedAt, conflictSince: conflict?.since };
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
