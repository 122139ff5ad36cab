// Rows of what hosts are asked to do, and back.

import * as z from 'zod';
import type { HostRelease, JobNote } from '../domain/arq.ts';
import type { BindId, HandleUuid, ProviderUuid, ReleaseId } from '../domain/ids.ts';
import { anId, camelNamed, parseRow, snakeNamed } from './row-fields.ts';
import { jobKey, type Row, releaseKey } from './rows.ts';
import { duePartition } from './shards.ts';

const storedJob = z.object({
  instances: z.array(z.string()),
  boot_id: z.string(),
  booted_host: z.string().exactOptional(),
});

const storedHandle = z.object({
  provider_uuid: anId<ProviderUuid>(),
  handle_uuid: anId<HandleUuid>(),
});
const storedRelease = z.object({
  release: z.object({
    id: anId<ReleaseId>(),
    bind_id: anId<BindId>().exactOptional(),
    boot_job: z.string().exactOptional(),
    is_part: z.literal(true).exactOptional(),
    hostname: z.string(),
    handles: z.array(storedHandle),
    program: z
      .object({ image_id: z.string(), provider_uuid: anId<ProviderUuid>() })
      .exactOptional(),
    started_at: z.string(),
    request_id: z.string().exactOptional(),
    quarantine: z.string().exactOptional(),
    retry_at: z.string().exactOptional(),
    retries: z.number().exactOptional(),
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

/** @param dueAt until when the host must have confirmed it */
export function releaseRow(release: HostRelease, dueAt: string): Row {
  return {
    ...releaseKey(release.id),
    release: {
      ...snakeNamed(release),
      handles: release.handles.map(snakeNamed),
      program: release.program && snakeNamed(release.program),
    },
    due: duePartition('release', release.id),
    due_at: dueAt,
  };
}

export function releaseOf(row: Row): HostRelease {
  const { handles, program, ...release } = parseRow(storedRelease, row).release;
  return {
    ...camelNamed(release),
    handles: handles.map(camelNamed),
    ...(program && { program: camelNamed(program) }),
  };
}
