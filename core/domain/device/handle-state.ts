// The state of an attach handle. Every question about a handle's state is answered here.

import type { AttachHandle, HandleCare } from './device.ts';

/** In order of precedence: a handle has the first state that applies. */
export const handleStates = [
  /** The host did not confirm the release in time. */
  'quarantined',
  /** The handle comes from a backup; its holder since then is unknown. */
  'restored',
  /** An ARQ holds the handle. The claim may wait behind the release of the previous holder. */
  'claimed',
  /** The host no longer reports the handle. */
  'gone',
  /**
   * The host cleans it after the previous holder, for longer than a bind may take: no bind waits
   * for it.
   */
  'cleaning',
  /** The host still cleans up after the previous holder; a bind may wait for it. */
  'releasing',
  'free',
] as const;
export type HandleState = (typeof handleStates)[number];

export function handleStateOf(handle: Omit<AttachHandle, 'uuid' | 'info'>): HandleState {
  if (handle.quarantine !== undefined) return 'quarantined';
  if (handle.restoredAt !== undefined) return 'restored';
  if (handle.claim) return 'claimed';
  if (handle.isGone) return 'gone';
  if (handle.release === undefined) return 'free';
  return takesLong(handle) ? 'cleaning' : 'releasing';
}

/** The host has this long to clean a handle for which a bind waits. */
const briefCleaningSeconds = 300;

/** The longest time of any of them, for a release of all; empty if none needs cleaning. */
export function longestCleaning(handles: readonly HandleCare[]): { cleanSeconds?: number } {
  const seconds = handles.flatMap(({ cleanSeconds }) => cleanSeconds ?? []);
  return seconds.length > 0 ? { cleanSeconds: Math.max(...seconds) } : {};
}

export function takesLong({ cleanSeconds = 0 }: HandleCare): boolean {
  return cleanSeconds > briefCleaningSeconds;
}

export function countFree(handles: readonly AttachHandle[]): number {
  return handles.filter((handle) => handleStateOf(handle) === 'free').length;
}

/**
 * Whether a bind may claim it. The claim of a releasing handle waits until the host has cleaned
 * up.
 */
export function isClaimable(handle: AttachHandle): boolean {
  const state = handleStateOf(handle);
  return state === 'free' || state === 'releasing';
}

/** Whether it must not be claimed, with or without a holder, although the host reports it. */
export function isWithheld(handle: AttachHandle): boolean {
  const state = handleStateOf(handle);
  return state === 'quarantined' || state === 'restored';
}

/** Whether neither an ARQ nor a release holds it, whatever else is true of it. */
export function isUnheld({ claim, release }: Pick<AttachHandle, 'claim' | 'release'>): boolean {
  return claim === undefined && release === undefined;
}

/** Whether its row must stay, although the host may no longer report the handle. */
export function mustStay(handle: AttachHandle): boolean {
  return !isUnheld(handle) || isUncleanImport(handle);
}

/**
 * In quarantine by an import: the other service had not cleaned it. No work of the host waits.
 */
export function isUncleanImport({ quarantine, release }: AttachHandle): boolean {
  return quarantine !== undefined && release === undefined;
}
