// Devices whose card is another one than their host offered at the address before. Their agent
// compares, too, and knows nothing after a loss of its state. Pure.

import { type Device, type DiscoveredDevice, vendorId } from '#core/domain/device/device.ts';
import type { RefusedDevices } from '#core/domain/host/host.ts';
import { present } from '#core/shapes/derive/present.ts';
import { otherCardRefusal } from '#core/shapes/reported/offered-card.ts';
import type { ReportedManifest } from './report-plan.ts';

type Card = NonNullable<Device['card']>;
type RefusedDevice = RefusedDevices[string];

/** They stay in the host's row, which a host must not fill. */
const rememberedMax = 64;

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
    const refusal = refused[address];
    // An agent that has named a card cannot read it for a moment.
    const isStill = refusal?.card && refusal.reason !== '' && !isModel(refusal.card, device);
    if (!card) return isStill ? [[address, { ...refusal, digest }] as const] : [];
    const before = refusal?.card ?? cardBefore(rows.get(address), device, card);
    if (!before || isAccepted(card, before)) return [];
    const reason = otherCardRefusal(address, before, card);
    return reason === undefined
      ? []
      : [[address, { digest, driver, reason, card: before }] as const];
  });
  return Object.fromEntries(others);
}

/** A confirmation that is not later than the card before was for that one, or an earlier one. */
function isAccepted({ isNamed, confirmedAt }: Card, before: Card): boolean {
  if (isNamed) return true;
  return confirmedAt !== undefined && Date.parse(confirmedAt) > Date.parse(before.since);
}

/**
 * What is refused, and what was offered before at places that have no row now: they are empty, or
 * their card has changed and is not described yet.
 *
 * @param before refused before this report
 * @param described with the card before, or one that was accepted
 */
export function rememberCards(
  refused: RefusedDevices,
  before: RefusedDevices,
  { manifest, failedDrivers }: Pick<ReportedManifest, 'manifest' | 'failedDrivers'>,
  described: readonly DiscoveredDevice[],
  retired: readonly Device[],
): RefusedDevices {
  const isKnown = new Set([...Object.keys(refused), ...described.map(({ address }) => address)]);
  const gone = retired.map(({ address, driver, card }): [string, RefusedDevice] => [
    address,
    { digest: '', reason: '', driver, ...present({ card }) },
  ]);
  const remembered = Object.entries({ ...Object.fromEntries(gone), ...before }).filter(
    ([address, { card }]) => card && !isKnown.has(address),
  );
  const isNamed = ([address]: [string, RefusedDevice]) => Object.hasOwn(manifest, address);
  const absent = remembered
    .filter((each) => !isNamed(each))
    .toSorted(([, one], [, other]) => sinceOf(other) - sinceOf(one))
    .slice(0, rememberedMax)
    .map(([address, device]): [string, RefusedDevice] => {
      const isUnread = failedDrivers.includes(device.driver ?? '');
      return [address, isUnread ? device : { ...device, digest: '' }];
    });
  return { ...refused, ...Object.fromEntries([...remembered.filter(isNamed), ...absent]) };
}

function sinceOf({ card }: RefusedDevice): number {
  return Date.parse(card?.since ?? '');
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

function isModel({ identity }: Card, device: DiscoveredDevice): boolean {
  return identity.startsWith(`${modelOf(device)} `);
}

function modelOf({ vendor, product }: Pick<Device, 'vendor' | 'product'>): string {
  return `${vendorId(vendor)}:${vendorId(product)}`;
}

/**
 * The card for the device's row: with the serial number that it showed before, if it shows none
 * for a moment; or the card before, if the device of that model is described without one.
 */
export function cardAfter(
  device: DiscoveredDevice,
  was: Pick<Device, 'vendor' | 'product' | 'card'> | undefined,
): Card | undefined {
  const { card } = device;
  const before = was?.card;
  if (!card) return before && was && modelOf(was) === modelOf(device) ? before : undefined;
  const { since, confirmedAt = since } = card;
  // What a confirmation has let in it does not let in again, with another serial number.
  const settled = Date.parse(confirmedAt) > Date.parse(since) ? confirmedAt : since;
  const isSame = card.serial === undefined && card.identity === before?.identity;
  return { ...card, since: settled, ...(isSame && present({ serial: before.serial })) };
}
