// Which functions belong to servers that libvirt knows. A server that has one function of an IOMMU
// group needs the whole group; one that has a virtual function needs its card as it is.

import { namesInGroup, type PciFunction, physicalOf, readIfReadable } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { toProblem } from './host-facts.ts';
import type { DefinedDomains } from './libvirt/domains.ts';
import { describeUse } from './uses/uses.ts';

export interface ServerUse {
  /** What the server's definition names. */
  readonly address: string;
  /** What the function is to that one. */
  readonly as: 'itself' | 'mate' | 'virtual function' | 'card';
  /** Completes "The device at <address>". */
  readonly clause: string;
}

/** The uses of a function, the closest one first. */
export type ServerUses = (fn: PciFunction) => readonly ServerUse[];

const devices = 'bus/pci/devices';

export function readServerUses(sysfs: Sysfs, { byFunction }: DefinedDomains): ServerUses {
  if (byFunction.size === 0) return () => [];
  const { virtualOf, absent } = findPlaces(sysfs, [...byFunction.keys()]);
  const findUses = (fn: PciFunction): readonly ServerUse[] => {
    const uses: ServerUse[] = [];
    const note = (address: string, as: ServerUse['as'], prefix = '') => {
      const name = byFunction.get(address);
      if (name === undefined) return;
      uses.push({ address, as, clause: `${prefix}${describeUse({ kind: 'domain', name })}` });
    };
    note(fn.address, 'itself');
    for (const mate of namesInGroup(sysfs, fn)) {
      if (mate === fn.address) continue;
      note(mate, 'mate', `shares IOMMU group ${fn.iommuGroup} with ${mate}, which `);
    }
    const virtual = [...(virtualOf.get(fn.address) ?? []), ...becoming(sysfs, fn, absent)];
    for (const each of virtual) note(each, 'card', `has the virtual function ${each}, which `);
    const { physicalFunction: card } = fn;
    if (card) note(card, 'virtual function', `is a virtual function of ${card}, which `);
    return uses;
  };
  return (fn) => {
    try {
      return findUses(fn);
    } catch (error) {
      return [{ address: fn.address, as: 'itself', clause: `may be in use: ${toProblem(error)}` }];
    }
  };
}

/** The cards of the named virtual functions, and the functions that do not exist now. */
function findPlaces(sysfs: Sysfs, named: readonly string[]) {
  const virtualOf = new Map<string, string[]>();
  const absent: string[] = [];
  const present = new Set(sysfs.list(devices));
  for (const address of named) {
    if (!present.has(address)) absent.push(address);
    const card = physicalOf(sysfs, address);
    if (card !== undefined) virtualOf.set(card, [...(virtualOf.get(card) ?? []), address]);
  }
  return { virtualOf, absent };
}

/** Those that the card will have as virtual functions, once the host makes them: after a boot. */
function becoming(sysfs: Sysfs, { address, path }: PciFunction, absent: readonly string[]) {
  if (absent.length === 0) return [];
  const read = (name: string) => Number(readIfReadable(sysfs, `${path}/${name}`) ?? 0);
  const total = read('sriov_totalvfs');
  if (!(total > 0)) return [];
  // Single Root I/O Virtualization and Sharing 1.1, 2.1.2: how their addresses follow.
  const [offset, stride] = [read('sriov_offset'), read('sriov_stride')];
  return absent.filter((each) => {
    const distance = busDistance(address, each);
    if (distance === undefined) return false;
    // An old kernel does not show it: all on the bus of the card count.
    if (!(offset > 0)) return sameBus(address, each);
    const number = (distance - offset) / (stride || 1);
    return Number.isInteger(number) && number >= 0 && number < total;
  });
}

/** From one function to another of its domain, in the order of the kernel's numbers. */
function busDistance(from: string, to: string): number | undefined {
  const [first, second] = [parsePciAddress(from), parsePciAddress(to)];
  if (!first || first.domain !== second?.domain) return undefined;
  const toNumber = ({ bus, device, function: fn }: typeof first) =>
    Number.parseInt(bus, 16) * 256 + Number.parseInt(device, 16) * 8 + Number(fn);
  return toNumber(second) - toNumber(first);
}

function sameBus(first: string, second: string): boolean {
  return first.slice(0, -'00.0'.length) === second.slice(0, -'00.0'.length);
}
