// Rows of host work, and back.

import type { AwaitedWork, HostProgram, HostRelease, JobNote } from '../domain/host-work.ts';
import { jobKey, programKey, type Row, releaseKey } from './rows.ts';
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

const keys = { release: releaseKey, program: programKey } as const;

export function workKey({ kind, id }: Pick<AwaitedWork, 'kind' | 'id'>): { readonly pk: string } {
  return keys[kind](id);
}

/** @param dueAt when the sweep looks at it, unless the host has confirmed it */
export function workRow({ kind, ...work }: AwaitedWork, dueAt: string): Row {
  const { id } = work;
  return {
    ...workKey({ kind, id }),
    [kind]: work,
    due: duePartition('awaited', id),
    due_at: dueAt,
  };
}

export function releaseOf(row: Row): HostRelease {
  return { kind: 'release', ...(row as { release: Omit<HostRelease, 'kind'> }).release };
}

export function programOf(row: Row): HostProgram {
  return { kind: 'program', ...(row as { program: Omit<HostProgram, 'kind'> }).program };
}
