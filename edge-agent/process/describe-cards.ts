// The cards at the addresses of offered devices, for the report: the control plane compares each
// with the one before, also after this host has lost its state. The cards of drivers that do not
// ask the guards about theirs are compared here.

import { printIdentity } from '#agent/guards/card-identities.ts';
import type { Guards } from '#agent/guards/guards.ts';
import { reasonOf } from '#agent/log.ts';
import type { ReadConfirmations } from '#agent/state/confirmations.ts';
import { type PciFunction, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';

interface CardDeps {
  readonly sysfs: Sysfs;
  readonly guards: Pick<Guards, 'cardAt' | 'findOtherCards' | 'keepCards'>;
  readonly confirmations: ReadConfirmations;
}

interface DescribedCards {
  /** Keys are addresses. A device without a PCI address, such as a pool, has no card. */
  readonly cards: ReadonlyMap<string, ReportedDevice['card']>;
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
    const cards = functions.flatMap((fn) => {
      const card = guards.cardAt(fn.address);
      if (!card || refusals.has(fn.address)) return [];
      const { identity, at } = confirmed[fn.address] ?? {};
      const confirmed_at = identity === card.identity ? at : undefined;
      return [[fn.address, { ...card, ...present({ confirmed_at }) }] as const];
    });
    return { cards: new Map(cards), refusals };
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
