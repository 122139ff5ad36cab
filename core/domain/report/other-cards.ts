// Devices whose card is another one than their host offered at the address before. Their agent
// compares, too, and knows nothing after a loss of its state. Pure.

import { type Device, type DiscoveredDevice, vendorId } from '#core/domain/device/device.ts';
import type { RefusedDevices } from '#core/domain/host/host.ts';
import { present } from '#core/shapes/derive/present.ts';
import { otherCardRefusal } from '#core/shapes/reported/offered-card.ts';

type Card = NonNullable<Device['card']>;

/**
 * What to refuse of a report, with what was offered before. An agent of an earlier release names
 * no card: its device is taken as it is, because no operator could confirm it.
 *
 * @param refused before this report
 */
export function findOtherCards(
  described: readonly DiscoveredDevice[],
  stored: readonly Device[],
  refused: RefusedDevices,
): RefusedDevices {
  const rows = new Map(stored.map((device) => [device.address, device]));
  const others = described.flatMap((device) => {
    const { address, card, digest, driver } = device;
    if (!card) return [];
    const before = refused[address]?.card ?? cardBefore(rows.get(address), device, card);
    if (!before || isAccepted(card, before)) return [];
    const reason = otherCardRefusal(address, before, card);
    return reason === undefined
      ? []
      : [[address, { digest, driver, reason, card: before }] as const];
  });
  return Object.fromEntries(others);
}

/** A confirmation that is older than the card before was for an earlier one. */
function isAccepted({ isNamed, confirmedAt }: Card, before: Card): boolean {
  if (isNamed) return true;
  return confirmedAt !== undefined && Date.parse(confirmedAt) >= Date.parse(before.since);
}

/** A row that an earlier release wrote has vendor and product alone. */
function cardBefore(
  row: Device | undefined,
  described: DiscoveredDevice,
  card: Card,
): Card | undefined {
  if (!row || row.card) return row?.card;
  const ids = modelOf(row);
  if (!/^[0-9a-f]{4}:[0-9a-f]{4}$/.test(ids) || ids === modelOf(described)) return undefined;
  const [, ...rest] = card.identity.split(' ');
  return { identity: [ids, ...rest].join(' '), since: row.createdAt };
}

function modelOf({ vendor, product }: Pick<Device, 'vendor' | 'product'>): string {
  return `${vendorId(vendor)}:${vendorId(product)}`;
}

/** The card with the serial number that it showed before, if it shows none for a moment. */
export function withSerial(now: Card | undefined, before: Card | undefined): Card | undefined {
  if (!now || now.serial !== undefined || now.identity !== before?.identity) return now;
  return { ...now, ...present({ serial: before.serial }) };
}
