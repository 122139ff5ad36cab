// What was offered at an address, kept over boots: another card may sit there after one, or a
// disk of the host. An entry of the settings that names ids says itself what it is for.

import type * as z from 'zod';
import type { Confirmations } from '#agent/state/confirmations.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { present } from '#core/shapes/derive/present.ts';
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
    Date.parse(confirmed.at) > Date.parse(before?.since ?? '')
  );
}

/** A card as it is seen now. */
interface SeenCard {
  readonly serial: string | undefined;
  readonly isNamed: boolean;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * What to keep of a card that is offered; undefined if that is what is kept. It begins anew with a
 * confirmation, which so lets in no later card with another serial number.
 */
export function cardToKeep(
  fn: PciFunction,
  before: OfferedCard | undefined,
  { serial, isNamed, now }: SeenCard,
  confirmations: Confirmations,
): OfferedCard | undefined {
  const identity = printIdentity(fn);
  const isSame = before?.identity === identity;
  // A serial number that cannot be read for a moment is still that of the card.
  const kept = serial ?? (isSame ? before.serial : undefined);
  const is_named = isNamed ? (true as const) : undefined;
  const isAsBefore = isSame && before.serial === kept && before.is_named === is_named;
  const confirmedAt = isConfirmed(fn, before, confirmations) && confirmations[fn.address]?.at;
  if (isAsBefore && !confirmedAt) return undefined;
  // The clock may have been set back since.
  const isLater = confirmedAt && Date.parse(confirmedAt) > Date.parse(now);
  return { identity, since: isLater ? confirmedAt : now, ...present({ serial: kept, is_named }) };
}
