// Rows of host work.

import * as z from 'zod';
import type {
  AwaitedWork,
  HostProgram,
  HostRelease,
  JobNote,
} from '#core/domain/host-work/host-work.ts';
import type { BindId, HandleUuid, ProviderUuid, ReleaseId } from '#core/domain/ids.ts';
import { anId, camelNamed, parseRow, snakeNamed } from './row-fields.ts';
import { jobKey, programKey, type Row, releaseKey } from './rows.ts';
import { duePartition } from './shards.ts';

const storedJob = z.object({
  instances: z.array(z.string()),
  boot_id: z.string(),
  booted_host: z.string().exactOptional(),
  is_message: z.literal(true).exactOptional(),
  bind_ids: z.array(anId<BindId>()).exactOptional(),
});

const handleWork = {
  id: anId<ReleaseId>(),
  hostname: z.string(),
  handles: z.array(
    z.object({ provider_uuid: anId<ProviderUuid>(), handle_uuid: anId<HandleUuid>() }),
  ),
  started_at: z.string(),
  left_at: z.string().exactOptional(),
  request_id: z.string().exactOptional(),
  quarantine: z.string().exactOptional(),
  retry_at: z.string().exactOptional(),
  retries: z.number().exactOptional(),
};
const storedRelease = z.object({
  release: z.object({
    ...handleWork,
    bind_id: anId<BindId>().exactOptional(),
    reprovision_job: z.string().exactOptional(),
    is_part: z.literal(true).exactOptional(),
    clean_seconds: z.number().exactOptional(),
  }),
});
const storedProgram = z.object({
  program: z.object({
    ...handleWork,
    image_id: z.string(),
    provider_uuid: anId<ProviderUuid>(),
  }),
});

export function jobRow(uuid: string, note: JobNote): Row {
  return { ...jobKey(uuid), ...snakeNamed(note) };
}

export function jobOf(row: Row): JobNote {
  return camelNamed(parseRow(storedJob, row));
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
    [kind]: { ...snakeNamed(work), handles: work.handles.map(snakeNamed) },
    due: duePartition('awaited', id),
    due_at: dueAt,
  };
}

export function releaseOf(row: Row): HostRelease {
  const { handles, ...release } = parseRow(storedRelease, row).release;
  return { kind: 'release', ...camelNamed(release), handles: handles.map(camelNamed) };
}

export function programOf(row: Row): HostProgram {
  const { handles, ...program } = parseRow(storedProgram, row).program;
  return { kind: 'program', ...camelNamed(program), handles: handles.map(camelNamed) };
}
