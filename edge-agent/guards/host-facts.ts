// Reads from sysfs and procfs what the guards decide on: for all devices of a driver at once, and
// only what can concern these devices.

import type { Hardware } from '#agent/hardware/port.ts';
import { reasonOf } from '#agent/log.ts';
import { type PciFunction, readIfReadable } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { present } from '#core/shapes/derive/present.ts';
import { areUsersSeen, mayBeNode } from './kernel-drivers.ts';
import { findParents } from './owner.ts';
import type { Proc } from './proc.ts';
import { type Blocks, noteBlockUses, noteClaims, readBlocks } from './uses/block-uses.ts';
import { isDisplay, noteDisplayUses } from './uses/display-uses.ts';
import { noteDivisions } from './uses/division-uses.ts';
import { noteNetworkUses } from './uses/network-uses.ts';
import { ownersOfNode, readKernelNodes, readOpenNodes } from './uses/open-nodes.ts';
import type { Note, Use } from './uses/uses.ts';

export interface HostFacts {
  readonly uses: ReadonlyMap<string, readonly Use[]>;
  /** IOMMU group, or PCI address, that is open through VFIO. */
  readonly openByVfio: ReadonlyMap<string, Use>;
  /** Addresses of devices with uses that cannot be read → why. */
  readonly unknown: ReadonlyMap<string, string>;
  /** Why the open nodes are not all known. */
  readonly unknownOpens?: string;
  /** Addresses of devices whose kernel driver has users that no guard sees → the driver. */
  readonly unseen: ReadonlyMap<string, string>;
  /** The kernel's ways to reset each device, separated by blanks; empty if there is none. */
  readonly resets: ReadonlyMap<string, string>;
  /** Addresses of cards that the host has given no memory of the bus. */
  readonly withoutMemory: ReadonlySet<string>;
}

export interface FactsDeps {
  readonly sysfs: Sysfs;
  readonly proc: Proc;
  readonly hardware: Hardware;
  readonly ownPid: string;
  /** Drivers of the kernel whose users no guard sees, and whose functions the operator frees. */
  readonly unguardedDrivers?: readonly string[];
}

export async function readHostFacts(
  deps: FactsDeps,
  functions: readonly PciFunction[],
): Promise<HostFacts> {
  const { sysfs } = deps;
  const uses = new Map<string, Use[]>();
  const note: Note = (address, use) => {
    const noted = uses.get(address);
    if (noted) noted.push(use);
    else uses.set(address, [use]);
  };
  const openByVfio = new Map<string, Use>();
  const unknown = new Map<string, string>();
  const unseen = new Map<string, string>();
  const resets = new Map<string, string>();
  const byAddress = new Map<string, PciFunction>();
  for (const each of functions) {
    resets.set(each.address, readResets(sysfs, each));
    byAddress.set(each.address, each);
  }
  const withoutMemory = new Set(
    functions.filter((fn) => hasNoMemory(sysfs, fn)).map(({ address }) => address),
  );
  const about = { uses, openByVfio, unknown, unseen, resets, withoutMemory };
  if (functions.length === 0) return about;
  /** What cannot be read refuses the devices that it concerns; it never ends the discovery. */
  const reading = async (concerned: Iterable<string>, read: () => Problem | Promise<Problem>) => {
    const problem = await Promise.resolve().then(read).catch(toProblem);
    if (problem) for (const address of concerned) unknown.set(address, problem);
  };

  let blocks: Blocks = new Map();
  await reading(byAddress.keys(), () => {
    blocks = readBlocks(sysfs, byAddress);
    return undefined;
  });
  const { byNode, mountTables, isPartial } = await readOpenNodes(deps);
  await reading(byAddress.keys(), () => {
    const names = { kernelNodes: readKernelNodes(sysfs, functions), blocks };
    for (const [node, by] of byNode) {
      const use: Use = { kind: 'open', node, by };
      const { owners, group, sharedName } = ownersOfNode(deps, names, node);
      if (group !== undefined) openByVfio.set(group, use);
      for (const address of owners) {
        if (node.startsWith('/dev/vfio/')) openByVfio.set(address, use);
        else if (byAddress.has(address)) note(address, use);
      }
      if (sharedName === undefined) continue;
      for (const fn of functions) if (mayBeNode(fn, sharedName)) note(fn.address, use);
    }
    return undefined;
  });
  if (blocks.size > 0) {
    const carriers = [...blocks.values()].flat();
    await reading(carriers, () => noteBlockUses(deps, blocks, mountTables, note));
    await reading(carriers, async () => {
      const problems = await noteClaims(deps, blocks, note, (address) => uses.has(address));
      for (const [address, problem] of problems) unknown.set(address, problem);
      return undefined;
    });
  }
  const cards = functions.filter(({ classCode }) => classCode.startsWith('02'));
  await reading(
    cards.map(({ address }) => address),
    () => noteNetworkUses(deps, byAddress, note),
  );
  const displays = functions.filter(isDisplay);
  await reading(
    displays.map(({ address }) => address),
    () => noteDisplayUses(sysfs, displays, note),
  );
  await reading(byAddress.keys(), () => noteDivisions(deps, byAddress, note));
  await reading(byAddress.keys(), () => noteControllers(sysfs, functions, note));
  for (const fn of functions) {
    const { address, boundDriver: driver } = fn;
    if (driver === undefined || deps.unguardedDrivers?.includes(driver)) continue;
    await reading([address], () => {
      if (!areUsersSeen(sysfs, fn)) unseen.set(address, driver);
      return undefined;
    });
  }
  const unknownOpens = isPartial ? 'the open files of the host cannot all be read' : undefined;
  return { ...about, ...present({ unknownOpens }) };
}

/** VMD makes a PCI domain of its own for its devices, which share its address on the bus. */
function noteControllers(sysfs: Sysfs, functions: readonly PciFunction[], note: Note): undefined {
  for (const { address, path } of functions) {
    const domain = `${address.split(':')[0]}:`;
    const controller = findParents(sysfs, path).findLast((each) => !each.startsWith(domain));
    if (controller !== undefined) note(address, { kind: 'behind', controller });
  }
}

const emptyResource = /^0x0+ 0x0+ 0x0+$/;

/**
 * Whether all base address registers are empty, as those of a card that the host enumerated before
 * its firmware was up. The kernel lists six, then others; it computes those of virtual functions.
 */
function hasNoMemory(sysfs: Sysfs, { path, physicalFunction }: PciFunction): boolean {
  const text = physicalFunction ? undefined : readIfReadable(sysfs, `${path}/resource`);
  const registers = text?.split('\n').slice(0, 6) ?? [];
  return registers.length === 6 && registers.every((each) => emptyResource.test(each.trim()));
}

type Problem = string | undefined;

export function toProblem(error: unknown): string {
  return `sysfs cannot be read (${(error as NodeJS.ErrnoException).code ?? reasonOf(error)})`;
}

/** Separated by blanks; empty if there is none. */
export function readResets(sysfs: Sysfs, { path }: PciFunction): string {
  try {
    const methods = sysfs.readAttribute(`${path}/reset_method`);
    // Kernels before 5.15 have no list of methods, and `reset` only if there is one.
    return methods ?? (sysfs.list(path)?.includes('reset') ? 'unnamed' : '');
  } catch {
    return '';
  }
}
