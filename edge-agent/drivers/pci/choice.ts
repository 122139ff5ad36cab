// Selects the functions of a host that can be offered, from the sysfs data of all of them. Pure.

import type { PciFunction } from '#agent/sysfs/pci.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { type AllowListEntry, matches } from './allow-list.ts';
import { refuseCardFunctions } from './fitness/card-functions.ts';
import { deviceType } from './naming/ids.ts';
import { isOtherBridge } from './pools.ts';

/** A physical function and what it offers: itself, or its virtual functions. */
export interface Choice {
  readonly physical: PciFunction;
  readonly offered: readonly PciFunction[];
  readonly type: ReportedDevice['type'];
  readonly entry: AllowListEntry;
}

/** What the operator wants of one physical function, whether or not it can be offered. */
export interface Wish {
  readonly physical: PciFunction;
  readonly functions: readonly PciFunction[];
  readonly entry: AllowListEntry;
}

interface Wishes {
  readonly wishes: readonly Wish[];
  /** Why functions on the allow-list are not offered, by address. */
  readonly refusals: ReadonlyMap<string, string>;
}

export function readWishes(
  functions: readonly PciFunction[],
  allowList: readonly AllowListEntry[],
): Wishes {
  const virtual = grouped(functions, ({ physicalFunction }) => physicalFunction);
  const refusals = new Map<string, string>();
  const wishes = functions.flatMap((physical) => {
    if (physical.physicalFunction) return [];
    return toWish(physical, virtual.get(physical.address) ?? [], allowList, refusals) ?? [];
  });
  return { wishes, refusals };
}

function toWish(
  physical: PciFunction,
  virtual: readonly PciFunction[],
  allowList: readonly AllowListEntry[],
  refusals: Map<string, string>,
): Wish | undefined {
  for (const entry of allowList) {
    if (entry.virtual_functions !== false) {
      const functions = virtual.filter((fn) => matches(entry, fn, physical));
      if (functions.length > 0) return { physical, entry, functions };
    } else if (matches(entry, physical)) {
      if (virtual.length === 0) return { physical, entry, functions: [physical] };
      // Passing through the physical function would remove its virtual functions.
      refusals.set(physical.address, 'has virtual functions, which its entry does not ask for');
    }
  }
  return undefined;
}

/**
 * Why addresses that the allow-list names offer nothing: no function is there, or none that an
 * entry with the address matches. Patterns name no address.
 */
export function readMissing(
  functions: readonly PciFunction[],
  allowList: readonly AllowListEntry[],
): ReadonlyMap<string, string> {
  const byAddress = new Map(functions.map((fn) => [fn.address, fn]));
  const missing = new Map<string, string>();
  for (const [address, entries] of Map.groupBy(allowList, exactAddress)) {
    if (address === undefined) continue;
    const fn = byAddress.get(address);
    const candidates = functions.filter(
      (each) => each.address === address || each.physicalFunction === address,
    );
    const isOffered = entries.some((entry) =>
      candidates.some(
        (each) =>
          (entry.virtual_functions !== false) === (each.physicalFunction !== undefined) &&
          matches(entry, each, fn ?? each),
      ),
    );
    if (isOffered) continue;
    const asksForVirtual = entries.some((entry) => entry.virtual_functions !== false);
    if (!fn) missing.set(address, 'is not on this host');
    else if (fn.physicalFunction && !asksForVirtual) {
      missing.set(address, 'is a virtual function, and its entry lacks virtual_functions');
    } else if (asksForVirtual && !fn.physicalFunction) {
      missing.set(address, 'has no virtual functions that its entry names');
    } else {
      const is = `${fn.vendorId}:${fn.productId} of class ${fn.classCode}`;
      missing.set(address, `is ${is}, which its entry does not name`);
    }
  }
  return missing;
}

/** The address that an entry names in full; without a domain it is 0000. */
function exactAddress({ address = '' }: AllowListEntry): string | undefined {
  const parsed = parsePciAddress(address.split(':').length === 2 ? `0000:${address}` : address);
  return parsed && printPciAddress(parsed);
}

/** Audio (HD Audio), USB (xHCI) and the controller of its connector, on one card with a GPU. */
const companionClasses = ['0403', '0c03', '0c80'];

/** The other functions of the card that go with it. */
export function findCompanions(
  { physical, entry }: Pick<Wish, 'physical' | 'entry'>,
  functions: readonly PciFunction[],
): PciFunction[] {
  if (!entry.companions) return [];
  return functions.filter(
    ({ address, classCode }) =>
      address !== physical.address &&
      pciSlot(address) === pciSlot(physical.address) &&
      companionClasses.some((prefix) => classCode.startsWith(prefix)),
  );
}

function pciSlot(address: string): string {
  return address.slice(0, address.lastIndexOf('.'));
}

interface Choices {
  readonly choices: readonly Choice[];
  readonly refusals: ReadonlyMap<string, string>;
}

/**
 * @param guarded functions that the guards refuse, with the reason
 * @param all those of the host
 */
export function choosePciFunctions(
  wishes: readonly Wish[],
  guarded: ReadonlyMap<string, string>,
  all: readonly PciFunction[],
): Choices {
  const groupsTaken = new Map<string, string>();
  const refusals = new Map<string, string>(guarded);
  const unfit = refuseCardFunctions(wishes, all);
  const choices: Choice[] = [];
  for (const { entry, functions } of wishes) {
    for (const { address, iommuGroup = '' } of entry.pool === undefined ? [] : functions) {
      groupsTaken.set(iommuGroup, address);
    }
  }
  for (const { physical, entry, functions } of wishes) {
    if (entry.pool !== undefined) continue;
    const offered = functions.filter(({ address, classCode, iommuGroup = '' }) => {
      if (guarded.has(address)) return false;
      const reason = unfit.get(address);
      if (reason !== undefined) {
        refusals.set(address, reason);
        return false;
      }
      const taken = groupsTaken.get(iommuGroup);
      if (isOtherBridge({ classCode })) {
        refusals.set(address, 'is a bridge, which is offered in a set of a pool only');
        return false;
      }
      // VFIO gives a whole IOMMU group to one guest.
      if (taken) {
        refusals.set(address, `shares IOMMU group ${iommuGroup} with ${taken}, which is offered`);
      } else groupsTaken.set(iommuGroup, address);
      return !taken;
    });
    const first = offered[0];
    if (!first) continue;
    const type = entry.device_type ?? deviceType(first);
    if (type) choices.push({ physical, offered, type, entry });
    else refusals.set(first.address, `has class ${first.classCode}, which needs a device_type`);
  }
  return { choices, refusals };
}

function grouped(
  functions: readonly PciFunction[],
  keyOf: (fn: PciFunction) => string | undefined,
): Map<string, PciFunction[]> {
  const groups = new Map<string, PciFunction[]>();
  for (const fn of functions) {
    const key = keyOf(fn);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group) group.push(fn);
    else groups.set(key, [fn]);
  }
  return groups;
}
