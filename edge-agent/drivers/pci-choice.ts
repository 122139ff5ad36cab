// Selects the functions of a host that can be offered, from the sysfs data of all of them. Pure.

import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/inventory-report.ts';
import { type AllowListEntry, matches } from './pci-allow-list.ts';
import { deviceTypeOf, isBridge } from './pci-ids.ts';

/** A physical function and what it offers: itself, or its virtual functions. */
export interface Choice {
  readonly physical: PciFunction;
  readonly offered: readonly PciFunction[];
  readonly type: ReportedDevice['type'];
  readonly entry: AllowListEntry;
}

export interface Choices {
  readonly choices: readonly Choice[];
  /** Why functions on the allow-list are not offered, by address. */
  readonly refusals: ReadonlyMap<string, string>;
}

export function choosePciFunctions(
  functions: readonly PciFunction[],
  allowList: readonly AllowListEntry[],
): Choices {
  const virtual = grouped(functions, ({ physicalFunction }) => physicalFunction);
  const groups = grouped(functions, ({ iommuGroup }) => iommuGroup);
  const groupsTaken = new Map<string, string>();
  const refusals = new Map<string, string>();
  const choices: Choice[] = [];

  for (const physical of functions) {
    if (physical.physicalFunction) continue;
    const wanted = chooseOf(physical, virtual.get(physical.address) ?? [], allowList, refusals);
    if (!wanted) continue;
    const offered = wanted.functions.filter((fn) => {
      const hindrance = hindranceOf(fn, groups.get(fn.iommuGroup ?? '') ?? [], groupsTaken);
      if (hindrance) refusals.set(fn.address, hindrance);
      else groupsTaken.set(fn.iommuGroup ?? '', fn.address);
      return !hindrance;
    });
    const first = offered[0];
    if (!first) continue;
    const type = wanted.entry.device_type ?? deviceTypeOf(first);
    if (type) choices.push({ physical, offered, type, entry: wanted.entry });
    else refusals.set(first.address, `class ${first.classCode} needs device_type in its entry`);
  }
  return { choices, refusals };
}

/** The operator's choice for one physical function, whether or not it can be offered. */
function chooseOf(
  physical: PciFunction,
  virtual: readonly PciFunction[],
  allowList: readonly AllowListEntry[],
  refusals: Map<string, string>,
): { entry: AllowListEntry; functions: readonly PciFunction[] } | undefined {
  for (const entry of allowList) {
    if (entry.virtual_functions) {
      const functions = virtual.filter((fn) => matches(entry, fn, physical));
      if (functions.length > 0) return { entry, functions };
    } else if (matches(entry, physical)) {
      if (virtual.length === 0) return { entry, functions: [physical] };
      // Passing through the physical function would remove its virtual functions.
      refusals.set(physical.address, 'has virtual functions, which its entry does not ask for');
    }
  }
  return undefined;
}

/**
 * VFIO assigns whole IOMMU groups, so only one function of a group can be offered, and only if
 * the host uses no other function of the group.
 */
function hindranceOf(
  fn: PciFunction,
  group: readonly PciFunction[],
  groupsTaken: ReadonlyMap<string, string>,
): string | undefined {
  if (isBridge(fn)) return 'is a bridge';
  if (!fn.iommuGroup) return 'has no IOMMU group: the IOMMU is off';
  const taken = groupsTaken.get(fn.iommuGroup);
  if (taken) return `shares IOMMU group ${fn.iommuGroup} with ${taken}, which is offered`;
  const holder = group.find((other) => other !== fn && isHeldByHost(other));
  return holder && `shares IOMMU group ${fn.iommuGroup} with ${describeHolder(holder)}`;
}

// Bridges and unbound functions do not conflict; pci-stub only keeps other drivers away.
function isHeldByHost(fn: PciFunction): boolean {
  return !isBridge(fn) && fn.boundDriver !== undefined && !/vfio|^pci-stub$/.test(fn.boundDriver);
}

function describeHolder(holder: PciFunction): string {
  return `${holder.address}, which the host's driver ${holder.boundDriver} holds`;
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
