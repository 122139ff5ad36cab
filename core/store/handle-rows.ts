// Attach handles as DynamoDB holds them, and back.

import type { AttachHandle } from '../domain/device.ts';
import type { ArqUuid, HandleUuid, InstanceUuid, ProviderUuid, ReleaseId } from '../domain/ids.ts';
import { handleKey, type Row } from './rows.ts';

export function handleRow(handle: AttachHandle): Row {
  return {
    ...handleKey(handle.providerUuid, handle.uuid),
    type: handle.type,
    info: handle.info,
    epoch: handle.epoch,
    ...(handle.isGone && { is_gone: true }),
    release_id: handle.release,
    quarantine: handle.quarantine,
    restored_at: handle.restoredAt,
  };
}

export function handleOf(row: Row): AttachHandle {
  const stored = row as {
    pk: string;
    sk: string;
    type: AttachHandle['type'];
    info: Record<string, string>;
    epoch: number;
    arq_uuid?: ArqUuid;
    instance_uuid: InstanceUuid;
    is_gone?: true;
    release_id?: ReleaseId;
    quarantine?: string;
    restored_at?: string;
  };
  return {
    uuid: stored.sk.slice('HANDLE#'.length) as HandleUuid,
    providerUuid: stored.pk.slice('RP#'.length) as ProviderUuid,
    type: stored.type,
    info: stored.info,
    epoch: stored.epoch,
    ...(stored.arq_uuid && {
      claim: { arqUuid: stored.arq_uuid, instanceUuid: stored.instance_uuid },
    }),
    ...(stored.release_id && { release: stored.release_id }),
    ...(stored.quarantine && { quarantine: stored.quarantine }),
    ...(stored.restored_at && { restoredAt: stored.restored_at }),
    isGone: stored.is_gone === true,
  };
}
