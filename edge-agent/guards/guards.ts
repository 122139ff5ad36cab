// The guards: asked by a driver at each discovery for all its functions, and again before a handle
// of one is prepared.

import type { PciFunction } from '#agent/sysfs/pci.ts';
import { readGroup, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import { holdRefusal, refusalOf } from './assignable.ts';
import { type FactsDeps, readHostFacts } from './host-facts.ts';
import type { OfferedBefore } from './offered-before.ts';

export interface GuardsDeps extends FactsDeps {
  readonly offeredBefore: OfferedBefore;
}

export interface Asked {
  readonly driver: string;
  /** What the driver would offer. */
  readonly wanted: readonly PciFunction[];
  /** All functions of the host. */
  readonly all: readonly PciFunction[];
  readonly isOurs: (fn: PciFunction) => boolean;
  /** Addresses at which the driver works itself, for example cleans: they stay offered. */
  readonly busy?: ReadonlySet<string>;
  /** Addresses that the driver itself does not offer now: a guest may have had them before. */
  readonly withheld?: readonly string[];
}

/** A clause for each function in use, which completes "The device at <address> ...". */
export type Held = ReadonlyMap<string, string>;

export interface Guards {
  /** Why functions are refused, by address; records the others as offered. */
  check(asked: Asked): Promise<ReadonlyMap<string, string>>;
  /**
   * Why a function must not be prepared for a guest now; undefined if it may. No process may have
   * it open, because its handle has just been claimed.
   */
  recheck(address: string, isOurs: (fn: PciFunction) => boolean): Promise<string | undefined>;
  /** What uses the functions, by address; host use of a function may be left out. */
  heldBy(functions: readonly PciFunction[], countsHostUse: boolean): Promise<Held>;
  /** Whether the agent offers the function to guests. */
  isOffered(address: string): boolean;
}

export function openGuards(deps: GuardsDeps): Guards {
  const { sysfs, offeredBefore } = deps;
  return {
    check: async ({ driver, wanted, all, isOurs, busy, withheld = [] }) => {
      const facts = await readHostFacts(deps, wanted);
      const groups = groupsOf(all);
      const before = offeredBefore.of(driver);
      const refusals = new Map<string, string>();
      // A stopped guest has nothing open, and has its function nevertheless.
      const kept = withheld.filter((address) => before.has(address));
      for (const fn of wanted) {
        const { address, iommuGroup = '' } = fn;
        const group = groups.get(iommuGroup) ?? [];
        const mayBeHeld = before.has(address);
        const refusal = refusalOf({ fn, group, isOurs, mayBeHeld }, facts);
        const stays = mayBeHeld && busy?.has(address);
        if (refusal && !stays) refusals.set(address, refusal);
        // Refused for another reason while a guest has it: after the reason has gone, the guest
        // still has it.
        const isOpen = facts.openByVfio.has(iommuGroup) || facts.openByVfio.has(address);
        const mayBeGuests = isOpen || facts.unknown.has(address);
        if (!refusal || stays || (mayBeHeld && mayBeGuests)) kept.push(address);
      }
      await offeredBefore.replace(driver, kept);
      return refusals;
    },
    isOffered: offeredBefore.has,
    heldBy: async (functions, countsHostUse) => {
      const facts = await readHostFacts(deps, functions);
      const held = new Map<string, string>();
      for (const fn of functions) {
        const refusal = holdRefusal(fn, facts, { mayBeHeld: false, countsHostUse });
        if (refusal) held.set(fn.address, refusal);
      }
      return held;
    },
    recheck: async (address, isOurs) => {
      const fn = readPciFunctionAt(sysfs, address);
      if (!fn) return 'is no longer there';
      const group = readGroup(sysfs, fn);
      return refusalOf({ fn, group, isOurs, mayBeHeld: false }, await readHostFacts(deps, [fn]));
    },
  };
}

/** Only groups of several: a host has thousands of functions alone in theirs. */
function groupsOf(all: readonly PciFunction[]): ReadonlyMap<string, readonly PciFunction[]> {
  const first = new Map<string, PciFunction>();
  const groups = new Map<string, PciFunction[]>();
  for (const fn of all) {
    if (!fn.iommuGroup) continue;
    const group = groups.get(fn.iommuGroup);
    const before = first.get(fn.iommuGroup);
    if (group) group.push(fn);
    else if (before) groups.set(fn.iommuGroup, [before, fn]);
    else first.set(fn.iommuGroup, fn);
  }
  return groups;
}
