// The cards at the addresses of offered devices, for the report: the control plane compares each
// with the one before, also after this host has lost its state. The cards of drivers that do not
// ask the guards about theirs are compared here.

import { printIdentity } from '#agent/guards/card-identities.ts';
import type { Guards } from '#agent/guards/guards.ts';
import { reasonOf } from '#agent/log.ts';
import type { ReadConfirmations } from '#agent/state/confirmations.ts';
import { type PciFunction, physicalOf, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { listHandles, type ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { hardwareFunction } from '#core/shapes/attach-handle.ts';
import { present } from '#core/shapes/derive/present.ts';
import { unitCardsMax } from '#core/shapes/reported/offered-card.ts';

interface CardDeps {
  readonly sysfs: Sysfs;
  readonly guards: Pick<Guards, 'cardAt' | 'findOtherCards' | 'keepCards'>;
  readonly confirmations: ReadConfirmations;
}

type DescribedCard = Pick<ReportedDevice, 'card' | 'unit_cards'>;

interface DescribedCards {
  /** Keys are addresses. A device without a PCI address, such as a pool, has cards of units. */
  readonly cards: ReadonlyMap<string, DescribedCard>;
  /** Why devices must not be offered, by address: another card was. */
  readonly refusals: ReadonlyMap<string, string>;
}

export type DescribeCards = (devices: readonly ReportedDevice[]) => Promise<DescribedCards>;

export function createDescribeCards({ sysfs, guards, confirmations }: CardDeps): DescribeCards {
  const isKept = (fn: PciFunction) => guards.cardAt(fn.address)?.identity === printIdentity(fn);
  return async (devices) => {
    const functions = devices.flatMap((device) => readCard(sysfs, device) ?? []);
    // The agent itself may write another image into a component, with other ids.
    const written = new Set(devices.flatMap((each) => (each.components ? [each.address] : [])));
    const unkept = functions.filter((fn) => !isKept(fn));
    const refusals = new Map(
      await guards.findOtherCards(unkept.filter(({ address }) => !written.has(address))),
    );
    const kept = unkept.filter(({ address }) => !refusals.has(address));
    try {
      await guards.keepCards(kept, new Map(), ({ address }) => written.has(address));
    } catch (error) {
      const reason = `could not be noted as offered: ${reasonOf(error)}`.slice(0, 255);
      for (const { address } of kept) refusals.set(address, reason);
    }
    const confirmed = await confirmations();
    const describeCard = (address: string) => {
      const card = guards.cardAt(address);
      if (!card) return [];
      const { identity, at } = confirmed[address] ?? {};
      const confirmed_at = identity === card.identity ? at : undefined;
      return [[address, { ...card, ...present({ confirmed_at }) }] as const];
    };
    const cards = new Map<string, DescribedCard>();
    for (const { address } of functions) {
      const [[, card] = []] = refusals.has(address) ? [] : describeCard(address);
      if (card) cards.set(address, { card });
    }
    for (const device of devices) {
      const units = readUnits(sysfs, device).flatMap(describeCard).slice(0, unitCardsMax);
      if (units.length > 0) cards.set(device.address, { unit_cards: Object.fromEntries(units) });
    }
    return { cards, refusals };
  };
}

/** A device whose function has another vendor than the device is none of the host: a fake one. */
function readCard(sysfs: Sysfs, { address, vendor }: ReportedDevice): PciFunction | undefined {
  try {
    const fn = readPciFunctionAt(sysfs, address);
    return fn?.vendorId === vendor.toLowerCase().replace(/^0x/, '') ? fn : undefined;
  } catch {
    return undefined;
  }
}

/** Addresses of the cards whose functions a pool offers: of thousands, it reads one link each. */
function readUnits(sysfs: Sysfs, device: ReportedDevice): string[] {
  if (parsePciAddress(device.address)) return [];
  const physical = listHandles(device).flatMap((handle) => {
    const address = hardwareFunction(handle);
    return address === undefined ? [] : (physicalAddress(sysfs, address) ?? address);
  });
  return [...new Set(physical)];
}

function physicalAddress(sysfs: Sysfs, address: string): string | undefined {
  try {
    return physicalOf(sysfs, address);
  } catch {
    return undefined;
  }
}
