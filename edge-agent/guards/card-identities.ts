// What was offered at an address, kept over boots: another card may sit there after one, or a
// disk of the host. An entry of the settings that names ids says itself what it is for.

import type * as z from 'zod';
import type { Confirmations } from '#agent/state/confirmations.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { offeredCard, otherCardRefusal } from '#core/shapes/reported/offered-card.ts';

/** A card as it was offered. */
export const keptCard = offeredCard.omit({ confirmed_at: true });
export type OfferedCard = z.infer<typeof keptCard>;

/** `10de:26b9 030200 10de:16a1` */
export function printIdentity(fn: PciFunction): string {
  return `${fn.vendorId}:${fn.productId} ${fn.classCode} ${fn.subsystemId}`;
}

/** Why another card must not be offered or bound; a clause after "The device at <address>". */
export function cardRefusal(
  fn: PciFunction,
  before: OfferedCard | undefined,
  serial?: string,
): string | undefined {
  return before && otherCardRefusal(fn.address, before, { identity: printIdentity(fn), serial });
}

/** Whether an operator has confirmed the card as it is now, after another one was offered. */
export function isConfirmed(
  fn: PciFunction,
  before: OfferedCard | undefined,
  confirmations: Confirmations,
): boolean {
  const confirmed = confirmations[fn.address];
  return (
    confirmed?.identity === printIdentity(fn) &&
    Date.parse(confirmed.at) >= Date.parse(before?.since ?? '')
  );
}
