// How an attach handle is used, for the metrics. Pure.

import type { AttachHandle } from '#core/domain/device/device.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';

/**
 * `withheld`: unclaimed, but its device takes no bind, it was restored from a backup with an
 * unknown holder, or it is of a type that the host's hypervisor does not take.
 */
export const handleUses = ['free', 'withheld', 'claimed', 'releasing', 'quarantined'] as const;
type HandleUse = (typeof handleUses)[number];

/** Undefined for a handle that is gone and owes no release. */
export function handleUse(handle: AttachHandle, isOffered: boolean): HandleUse | undefined {
  const { restoredAt, ...rest } = handle;
  // A restored handle counts as held by its ARQ or release; without one it is withheld.
  const state = handleStateOf(rest);
  switch (state) {
    case 'gone':
      return handle.release && 'releasing';
    case 'cleaning':
      return 'releasing';
    case 'restored':
    case 'free':
      return restoredAt || !isOffered ? 'withheld' : 'free';
    default:
      return state;
  }
}
