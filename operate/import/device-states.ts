// The states of devices in Cyborg since 17.0.0, and here. Pure.
//
// Cyborg 17.0.0 writes `available` for a new device, and while it upgrades a database
// `allocated` for a device with an attach handle in use; neither a bind nor the end of one changes
// the state. So both say nothing that the attach handles do not say. The other states are for
// devices that are cleaned after a server.

import type { AttachHandle } from '#core/domain/device/device.ts';

const usualStates: readonly (string | undefined)[] = ['available', 'allocated', undefined];

/** What is true of a device in each of the other states. */
const meanings: ReadonlyMap<string, string> = new Map([
  ['pending_cleaning', 'its last server is gone, and its cleaning has not begun'],
  ['cleaning', 'its cleaning has begun, and may not have ended'],
  ['error', 'its cleaning failed'],
]);

/**
 * Why no server may get the device before it is cleaned; undefined where it is clean or a server
 * has it. A clause that completes "The device ...". A state of a later release is not trusted.
 */
export function describeUnclean(state: string | undefined): string | undefined {
  if (state === undefined || usualStates.includes(state)) return undefined;
  const meaning = meanings.get(state) ?? 'this command does not know that state';
  return `was in the state ${state} in Cyborg: ${meaning}`;
}

/** The state in Cyborg of a device that its host has not cleaned since its last server. */
export type UncleanState = 'error' | 'pending_cleaning';

/** Undefined for a handle that is clean, or that an import has withheld since. */
export function uncleanState({ quarantine, release }: AttachHandle): UncleanState | undefined {
  if (release === undefined) return undefined;
  return quarantine === undefined ? 'pending_cleaning' : 'error';
}
