// Rows of attach handles.

import type { AttachHandle } from '#core/domain/device/device.ts';
import type { HandleClaim } from '#core/domain/device/handle-claim.ts';
import { takesLong } from '#core/domain/device/handle-state.ts';
import type { HandleUuid, ProviderUuid } from '#core/domain/ids.ts';
import {
  handleState,
  offeredHandle,
  storedClaim,
  storedHandle,
} from '#core/shapes/attach-handle.ts';
import { toWholeWire, toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { fromRow } from './row-fields.ts';
import { handleKey, type Row } from './rows.ts';

/** Without the claim: only a bind's transaction writes it. */
export function handleRow(handle: AttachHandle): Row {
  return {
    ...handleKey(handle.providerUuid, handle.uuid),
    ...present(factsInRow(handle)),
    epoch: handle.epoch,
    ...toWire(handleState, handle),
    ...present({ release_id: handle.release, is_gone: handle.isGone || undefined }),
  };
}

/** What a report replaces, with undefined for each attribute that the handle does not have. */
export function factsInRow(handle: AttachHandle): Row {
  return {
    ...toWholeWire(offeredHandle, handle),
    // Let a stream's filter find handles whose releases, or claims too, change what Placement
    // may allocate: it sees no map.
    takes_long: takesLong(handle) || undefined,
    is_of_pool: handle.locality !== undefined || undefined,
  };
}

export function toHandle(row: Row): AttachHandle {
  const { pk, sk, isGone, releaseId: release, ...stored } = fromRow(storedHandle, row);
  return {
    uuid: sk.slice('HANDLE#'.length) as HandleUuid,
    providerUuid: pk.slice('RP#'.length) as ProviderUuid,
    ...stored,
    isGone: isGone === true,
    ...present({ release, claim: row.arq_uuid === undefined ? undefined : toClaim(row) }),
  };
}

function toClaim(row: Row): HandleClaim {
  const { claimFacts: facts, ...claim } = fromRow(storedClaim, row);
  return { ...claim, ...present({ facts }) };
}
