// Rows of attach handles.

import * as z from 'zod';
import { type AttachHandle, attachTypes, preparations } from '../domain/device.ts';
import type { HandleClaim } from '../domain/handle-claim.ts';
import { takesLong } from '../domain/handle-state.ts';
import type {
  ArqUuid,
  DeviceUuid,
  HandleUuid,
  InstanceUuid,
  ProviderUuid,
  ReleaseId,
} from '../domain/ids.ts';
import { anId, camelNamed, parseRow, snakeNamed, texts } from './row-fields.ts';
import { handleKey, type Row } from './rows.ts';

const facts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const storedHandle = z.object({
  pk: z.string(),
  sk: z.string(),
  type: z.enum(attachTypes),
  info: texts,
  epoch: z.number(),
  prepare: z.enum(preparations).exactOptional(),
  clean_seconds: z.number().exactOptional(),
  last_cleaning: z.object({ at: z.string(), evidence: facts }).exactOptional(),
  is_gone: z.literal(true).exactOptional(),
  release_id: anId<ReleaseId>().exactOptional(),
  quarantine: z.string().exactOptional(),
  restored_at: z.string().exactOptional(),
  last_change: z
    .object({ at: z.string(), by: z.string(), request_id: z.string().exactOptional() })
    .exactOptional(),
});

/** Part of a claimed handle's row. */
const storedClaim = z.object({
  arq_uuid: anId<ArqUuid>(),
  instance_uuid: anId<InstanceUuid>(),
  claim_facts: z
    .object({
      project_id: z.string(),
      at: z.string(),
      profile_name: z.string(),
      hostname: z.string(),
      device_uuid: anId<DeviceUuid>(),
      resource_class: z.string().exactOptional(),
    })
    .exactOptional(),
});

/** Without the claim: only a bind's transaction writes it. */
export function handleRow(handle: AttachHandle): Row {
  return {
    ...handleKey(handle.providerUuid, handle.uuid),
    type: handle.type,
    info: handle.info,
    epoch: handle.epoch,
    ...(handle.prepare && { prepare: handle.prepare }),
    ...(handle.cleanSeconds !== undefined && { clean_seconds: handle.cleanSeconds }),
    // Lets a stream's filter tell handles whose releases change what Placement reserves.
    ...(takesLong(handle) && { takes_long: true }),
    ...(handle.isGone && { is_gone: true }),
    release_id: handle.release,
    quarantine: handle.quarantine,
    restored_at: handle.restoredAt,
    ...(handle.lastChange && { last_change: snakeNamed(handle.lastChange) }),
  };
}

export function handleOf(row: Row): AttachHandle {
  const stored = parseRow(storedHandle, row);
  return {
    uuid: stored.sk.slice('HANDLE#'.length) as HandleUuid,
    providerUuid: stored.pk.slice('RP#'.length) as ProviderUuid,
    type: stored.type,
    info: stored.info,
    epoch: stored.epoch,
    ...(stored.prepare && { prepare: stored.prepare }),
    ...(stored.clean_seconds !== undefined && { cleanSeconds: stored.clean_seconds }),
    ...(stored.last_cleaning && { lastCleaning: stored.last_cleaning }),
    ...(row.arq_uuid !== undefined && { claim: claimOf(row) }),
    ...(stored.release_id && { release: stored.release_id }),
    ...(stored.quarantine && { quarantine: stored.quarantine }),
    ...(stored.restored_at && { restoredAt: stored.restored_at }),
    isGone: stored.is_gone === true,
    ...(stored.last_change && { lastChange: camelNamed(stored.last_change) }),
  };
}

function claimOf(row: Row): HandleClaim {
  const { claim_facts: facts, ...claim } = parseRow(storedClaim, row);
  return { ...camelNamed(claim), ...(facts && { facts: camelNamed(facts) }) };
}
