// Devices whose card is another one than their host offered at the address before. Their agent
// compares, too, and knows nothing after a loss of its state. Pure.

import {
  type Device,
  type DiscoveredDevice,
  type DiscoveredHandle,
  vendorId,
} from '#core/domain/device/device.ts';
import type { RefusedDevices } from '#core/domain/host/host.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import { present } from '#core/shapes/derive/present.ts';
import { otherCardRefusal } from '#core/shapes/reported/offered-card.ts';
import type { ReportedManifest, ReportPlan } from './report-plan.ts';

type Card = NonNullable<Device['card']>;
type RefusedDevice = RefusedDevices[string];
type RowChanges = Pick<ReportPlan, 'put' | 'retire'>;

/** Places of no reported device: they stay in the host's row, which a host must not fill. */
const rememberedMax = 64;

type Described = Pick<Device, 'address' | 'vendor' | 'product' | 'card' | 'unitCards'>;

/** The device, and each unit of it that has a card of its own. */
function withUnits<Each extends Described>(device: Each): Each[] {
  const units = Object.entries(device.unitCards ?? {}).map(([address, card]) => {
    const [vendor = '', product = ''] = card.identity.slice(0, 9).split(':');
    return { ...device, address, vendor, product, card };
  });
  return [device, ...units];
}

/** What was offered at each address. Of a place that two rows have, the device that is there. */
export function storedPlaces(stored: readonly Device[]): Map<string, Device> {
  const goneFirst = stored.toSorted((one, other) => Number(other.isGone) - Number(one.isGone));
  return new Map(goneFirst.flatMap(withUnits).map((place) => [place.address, place]));
}

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
  const rows = storedPlaces(stored);
  const unnamed = described.flatMap((device) => stillRefused(device, refused));
  const others = described.flatMap(withUnits).flatMap((device) => {
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
  return Object.fromEntries([...unnamed, ...others]);
}

/**
 * The refused units of a pool whose cards it does not name. The model of the pool does not say
 * which card is there.
 */
function stillRefused(pool: DiscoveredDevice, refused: RefusedDevices) {
  const { unitCards = {}, digest } = pool;
  return unitsOf(pool).flatMap((address) => {
    const refusal = refused[address];
    const isRefused = refusal?.card && refusal.reason !== '';
    if (!isRefused || Object.hasOwn(unitCards, address)) return [];
    return [[address, { ...refusal, digest }] as const];
  });
}

/** Addresses of the cards that a pool names, and of its other units. */
function unitsOf({ offers, unitCards = {} }: DiscoveredDevice): string[] {
  const units = offers?.attachHandles.filter(({ locality }) => locality) ?? [];
  return [
    ...new Set([...Object.keys(unitCards), ...units.flatMap((each) => pciFunction(each) ?? [])]),
  ];
}

/**
 * What is left of a report without what {@link findOtherCards} refuses. A pool stays, without the
 * units that are another card, and remembers the card before.
 */
export function withoutOthers(
  described: readonly DiscoveredDevice[],
  others: RefusedDevices,
): DiscoveredDevice[] {
  return described
    .filter(({ address }) => !Object.hasOwn(others, address))
    .map((device) => {
      const { offers, unitCards } = device;
      const taken = unitsOf(device).filter((each) => Object.hasOwn(others, each));
      if (!offers || taken.length === 0) return device;
      const attachHandles = handlesWithout(offers.attachHandles, taken);
      const numAccelerators = Math.min(offers.numAccelerators, attachHandles.length);
      const units = Object.entries(unitCards ?? {}).map(
        ([address, card]) => [address, others[address]?.card ?? card] as const,
      );
      return {
        ...device,
        ...(unitCards && { unitCards: Object.fromEntries(units) }),
        offers: { ...offers, attachHandles, numAccelerators },
      };
    });
}

/** A set goes as a whole. Which virtual functions are on a card is not reported: all go. */
function handlesWithout(
  handles: readonly DiscoveredHandle[],
  taken: readonly string[],
): readonly DiscoveredHandle[] {
  const isTaken = (handle: DiscoveredHandle) => taken.includes(pciFunction(handle) ?? '');
  const gone = handles.filter(isTaken);
  if (gone.length < taken.length) return [];
  const sets = new Set(gone.flatMap(({ locality }) => locality?.set ?? []));
  return handles.filter((each) => !isTaken(each) && !sets.has(each.locality?.set ?? ''));
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
 * @param changed stored rows that the report replaces or retires
 */
export function rememberCards(
  refused: RefusedDevices,
  before: RefusedDevices,
  { manifest, failedDrivers }: Pick<ReportedManifest, 'manifest' | 'failedDrivers'>,
  described: readonly DiscoveredDevice[],
  changed: readonly Device[],
): RefusedDevices {
  const isKnown = new Set([
    ...Object.keys(refused),
    ...described.flatMap(withUnits).map(({ address }) => address),
  ]);
  const gone = [...storedPlaces(changed)].map(([address, { driver, card }]) => {
    return [address, { digest: '', reason: '', driver, ...present({ card }) }] as const;
  });
  const remembered = Object.entries({ ...Object.fromEntries(gone), ...before }).filter(
    ([address, { card }]) => card && !isKnown.has(address),
  );
  const digests = new Set(Object.values(manifest));
  const isNamed = ([address]: readonly [string, RefusedDevice]) => Object.hasOwn(manifest, address);
  const all = [...Object.entries(refused), ...remembered];
  const absent = all
    .filter((each) => !isNamed(each))
    .map(([address, device]): [string, RefusedDevice] => {
      // The unit of a pool is there as long as the host describes the pool alike.
      const isSame = digests.has(device.digest) || failedDrivers.includes(device.driver ?? '');
      return [address, isSame ? device : { ...device, digest: '' }];
    })
    .toSorted(([, one], [, other]) => sinceOf(other) - sinceOf(one))
    .slice(0, rememberedMax);
  return Object.fromEntries([...all.filter(isNamed), ...absent]);
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

/** Those of a pool's units, in the same way. An agent of an earlier release names none. */
export function unitCardsAfter(
  device: DiscoveredDevice,
  was: Pick<Device, 'vendor' | 'product' | 'unitCards'> | undefined,
): Device['unitCards'] {
  const { unitCards = was?.unitCards } = device;
  if (!unitCards) return undefined;
  const cards = Object.entries(unitCards).map(([address, card]) => {
    const before = was && { ...was, ...present({ card: was.unitCards?.[address] }) };
    return [address, cardAfter({ ...device, card }, before) ?? card] as const;
  });
  return Object.fromEntries(cards);
}

/** The stored rows that the plan replaces or retires. */
export function changedRows({ put, retire }: RowChanges, stored: readonly Device[]): Device[] {
  const isPut = new Set(put.map(({ address }) => address));
  return [...retire, ...stored.filter(({ address }) => isPut.has(address))];
}

/** Whether the rows will not say any more what was offered at an address. */
export function forgetsCards(plan: RowChanges, stored: readonly Device[]): boolean {
  const isPut = new Set(plan.put.flatMap(withUnits).map(({ address }) => address));
  return changedRows(plan, stored)
    .flatMap(withUnits)
    .some(({ address, card }) => card !== undefined && !isPut.has(address));
}
