// Decides whether a PCI function may be given to a guest. Pure: the facts are read before. One
// place for all drivers, so that no driver offers what the host uses.

import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { HostFacts } from './host-facts.ts';
import { describeUse, shown } from './uses/uses.ts';

interface Question {
  readonly fn: PciFunction;
  /** All functions of its IOMMU group, itself included. */
  readonly group: readonly PciFunction[];
  /** Whether the operator gave the function to this agent. */
  readonly isOurs: (fn: PciFunction) => boolean;
  /** The agent has offered it, so a guest may have its VFIO node open. */
  readonly mayBeHeld: boolean;
}

/** Why not, as a clause that completes "The device at <address>"; undefined if it may. */
export function findRefusal(question: Question, facts: HostFacts): string | undefined {
  const { fn, mayBeHeld } = question;
  if (isBridge(fn) && !isOtherBridge(fn)) return 'is a bridge';
  if (facts.withoutMemory.has(fn.address)) {
    return 'has no memory of the bus (all BARs are empty): remove it and rescan, or reboot';
  }
  if (!fn.iommuGroup) return 'has no IOMMU group: the IOMMU is off';
  const held = mateRefusal(question) ?? holdRefusal(fn, facts, { mayBeHeld, countsHostUse: true });
  if (held) return held;
  if (!facts.resets.get(fn.address)?.trim()) {
    return 'cannot be cleaned between guests: it has no reset method';
  }
  return undefined;
}

/** What uses the function itself. */
export function holdRefusal(
  fn: PciFunction,
  facts: HostFacts,
  { mayBeHeld, countsHostUse }: { readonly mayBeHeld: boolean; readonly countsHostUse: boolean },
): string | undefined {
  const [use] = facts.uses.get(fn.address) ?? [];
  if (use && countsHostUse) return describeUse(use);
  const open = facts.openByVfio.get(fn.iommuGroup ?? '') ?? facts.openByVfio.get(fn.address);
  if (open && !mayBeHeld) return describeUse(open);
  const unknown = facts.unknown.get(fn.address) ?? (mayBeHeld ? undefined : facts.unknownOpens);
  if (unknown) return `may be in use: ${unknown}`;
  const unseen = countsHostUse ? facts.unseen.get(fn.address) : undefined;
  return unseen && unseenBy(unseen);
}

function unseenBy(driver: string): string {
  return (
    'may be in use: the guards do not know the device nodes of its kernel driver ' +
    `${shown(driver)}; unbind it, or name it in unguarded_kernel_drivers`
  );
}

/**
 * VFIO gives a whole IOMMU group to one guest. A mate on vfio-pci that is not ours may be given to
 * another guest by another service. pci-stub only keeps other drivers away.
 */
function mateRefusal({ fn, group, isOurs }: Question): string | undefined {
  for (const mate of group) {
    if (mate.address === fn.address || isBridge(mate)) continue;
    const { boundDriver, address } = mate;
    if (boundDriver === undefined || boundDriver === 'pci-stub') continue;
    const shares = `shares IOMMU group ${fn.iommuGroup} with ${address}`;
    if (!boundDriver.includes('vfio'))
      return `${shares}, which the host's driver ${boundDriver} holds`;
    if (!isOurs(mate)) return `${shares}, which is on ${boundDriver} and not on the allow-list`;
  }
  return undefined;
}

/**
 * The switches between GPUs have this class, and forward nothing of PCI; the driver decides with
 * what it is offered.
 */
function isOtherBridge({ classCode }: PciFunction): boolean {
  return classCode.startsWith('0680');
}

function isBridge({ classCode }: PciFunction): boolean {
  return classCode.startsWith('06');
}
