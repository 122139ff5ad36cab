// Rows of what hosts are asked to do, and back.

import type { HostRelease, JobNote } from '../domain/arq.ts';
import { jobKey, type Row, releaseKey } from './rows.ts';
import { duePartition } from './shards.ts';

export function jobRow(uuid: string, { instances, bootId, bootedHost }: JobNote): Row {
  return { ...jobKey(uuid), instances, boot_id: bootId, booted_host: bootedHost };
}

export function jobOf(row: Row): JobNote {
  const stored = row as { instances: string[]; boot_id: string; booted_host?: string };
  return {
    instances: stored.instances,
    bootId: stored.boot_id,
    ...(stored.booted_host && { bootedHost: stored.booted_host }),
  };
}

/** The uuid of a job's row. */
export function jobUuidOf(row: Row): string {
  return String(row.pk).slice(jobKey('').pk.length);
}

/** @param dueAt until when the host must have confirmed it */
export function releaseRow(release: HostRelease, dueAt: string): Row {
  return {
    ...releaseKey(release.id),
    release,
    due: duePartition('release', release.id),
    due_at: dueAt,
  };
}

export function releaseOf(row: Row): HostRelease {
  return (row as { release: HostRelease }).release;
}
