// Rows of host work.

import * as z from 'zod';
import type {
  AwaitedWork,
  HostProgram,
  HostRelease,
  JobNote,
} from '#core/domain/host-work/host-work.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { awaitedWork, jobNote } from '#core/shapes/host-work.ts';
import { fromRow } from './row-fields.ts';
import { jobKey, programKey, type Row, releaseKey } from './rows.ts';
import { duePartition } from './shards.ts';

export function jobRow(uuid: string, note: JobNote): Row {
  return { ...jobKey(uuid), ...toWire(jobNote, note) };
}

export function toJob(row: Row): JobNote {
  return fromRow(jobNote, row);
}

/** The uuid of a job's row. */
export function toJobUuid(row: Row): string {
  return String(row.pk).slice(jobKey('').pk.length);
}

const keys = { release: releaseKey, program: programKey } as const;

export function workKey({ kind, id }: Pick<AwaitedWork, 'kind' | 'id'>): { readonly pk: string } {
  return keys[kind](id);
}

/** @param dueAt when the sweep looks at it, unless the host has confirmed it */
export function workRow(work: AwaitedWork, dueAt: string): Row {
  const { kind, id } = work;
  return {
    ...workKey(work),
    [kind]:
      kind === 'release' ? toWire(awaitedWork.release, work) : toWire(awaitedWork.program, work),
    due: duePartition('awaited', id),
    due_at: dueAt,
  };
}

const storedRelease = z.object({ release: awaitedWork.release });
const storedProgram = z.object({ program: awaitedWork.program });

export function toRelease(row: Row): HostRelease {
  return { kind: 'release', ...fromRow(storedRelease, row).release };
}

export function toProgram(row: Row): HostProgram {
  return { kind: 'program', ...fromRow(storedProgram, row).program };
}
