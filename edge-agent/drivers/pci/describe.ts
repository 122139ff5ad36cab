// How the devices of this driver are described in a report.

import type { Hardware } from '#agent/hardware/port.ts';
import { findSwitch, type PciFunction, readPciDetails, readPlace } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { AllowListEntry } from './allow-list.ts';
import type { Choice, Wish } from './choice.ts';
import { fabricAttributes } from './fitness/boards.ts';
import { deviceType, pciTraits } from './naming/ids.ts';
import { modelName } from './naming/names.ts';
import { type FabricManager, partitionSeconds } from './partitions.ts';
import {
  composePools,
  isOtherBridge,
  type Member,
  type PciPool,
  type PoolDevice,
  partitionedSets,
} from './pools.ts';
import { cleanSeconds, resetRungs } from './reset.ts';

interface Describer {
  readonly name: string;
  readonly sysfs: Sysfs;
  /** What the driver in whose name it is offered knows of the device beyond its ids. */
  readonly describe?: (choice: Choice) => Partial<Pick<ReportedDevice, 'model' | 'attributes'>>;
}

export function describeDevice(
  { name, sysfs, describe }: Describer,
  choice: Choice,
  identity: string | undefined,
): ReportedDevice {
  const { physical, offered, type, entry } = choice;
  const place = readPlace(sysfs, physical);
  return {
    address: physical.address,
    driver: name,
    type,
    vendor: physical.vendorId,
    product: physical.productId,
    model: modelName(physical) ?? physical.productId,
    std_board_info: describeBoard(sysfs, physical, place),
    // The same text as Cyborg's driver.
    vendor_board_info: 'miss_vb_info',
    ...describe?.(choice),
    ...(identity && { identity }),
    ...place,
    offers: {
      resource_class: entry.resource_class,
      traits: [...new Set([...offered.flatMap(pciTraits), ...entry.traits])],
      attach_handles: offered.map((fn) => toHandle(fn, entry)),
    },
    regions: [],
  };
}

type Place = ReturnType<typeof readPlace>;

function describeBoard(sysfs: Sysfs, fn: PciFunction, { numa_node: numa }: Place): string {
  return JSON.stringify({
    product_id: fn.productId,
    subsystem_id: fn.subsystemId,
    class: `0x${fn.classCode}`,
    revision: readPciDetails(sysfs, fn).revision,
    ...present({ numa_node: numa }),
  });
}

function toHandle(
  { address, physicalFunction }: PciFunction,
  { clean, resets }: AllowListEntry,
  hasPartition = false,
): ReportedHandle {
  const parsed = parsePciAddress(address);
  if (!parsed) throw new Error(`${address} is not a PCI address.`);
  const { domain, bus, device, function: fn } = parsed;
  return {
    type: 'PCI',
    info: { domain, bus, device, function: fn },
    ...(clean === 'reset' && {
      clean_seconds: cleanSeconds(physicalFunction ? ['function'] : (resets ?? resetRungs)),
    }),
    ...(hasPartition && { prepare: 'at-bind', clean_seconds: partitionSeconds }),
  };
}

/** Adds what is said of the Fabric Manager, unless that runs elsewhere. */
export async function withFabric<
  Deps extends Describer & { hardware: Pick<Hardware, 'exec'>; fabricManager?: FabricManager },
>(deps: Deps, wishes: readonly Wish[], all: readonly PciFunction[]): Promise<Deps> {
  if (deps.fabricManager?.hostname !== undefined) return deps;
  const cards = wishes.map(({ physical }) => physical);
  const byCard = await fabricAttributes(deps.hardware, cards, all);
  const describe: Describer['describe'] = (choice) => {
    const described = deps.describe?.(choice);
    const attributes = { ...described?.attributes, ...byCard.get(choice.physical.address) };
    return { ...described, ...(Object.keys(attributes).length > 0 && { attributes }) };
  };
  return byCard.size > 0 ? { ...deps, describe } : deps;
}

interface PoolFinder extends Describer {
  readonly hardware: Pick<Hardware, 'healthOf'>;
  readonly pools?: readonly PciPool[];
}

/** @param refused functions that cannot be offered, with the reason */
export function findPools(
  finder: PoolFinder,
  wishes: readonly Wish[],
  refused: ReadonlyMap<string, string>,
) {
  const { sysfs, hardware, pools = [] } = finder;
  const reasons = new Map(refused);
  for (const { physical, functions } of wishes) {
    for (const { address } of functions) {
      const { state, reason } = hardware.healthOf(address);
      const fault = refused.get(physical.address) ?? (state === 'unhealthy' ? reason : undefined);
      if (fault !== undefined && !reasons.has(address)) reasons.set(address, fault);
    }
  }
  const composed = composePools(wishes, pools, reasons, (fn) => {
    const { numa_node: numa, pcie_root: root } = readPlace(sysfs, fn);
    return present({ numa, root, switch: findSwitch(sysfs, fn) });
  });
  const refusals = new Map(composed.refusals);
  const devices: Record<string, ReportedDevice> = {};
  for (const pool of composed.devices) {
    const isTaken = Object.hasOwn(devices, pool.name);
    const device = isTaken ? `is in a second pool named ${pool.name}` : describePool(finder, pool);
    if (typeof device !== 'string') devices[pool.name] = device;
    else for (const { fn } of pool.members) refusals.set(fn.address, device);
  }
  return { devices, refusals };
}

/**
 * Describes a pool as its first member that is no switch between the others.
 *
 * @returns why not, where the type of that member is not known
 */
function describePool(
  describer: PoolFinder,
  { name, members }: PoolDevice,
): ReportedDevice | string {
  const units = members.filter(({ fn }) => !isOtherBridge(fn));
  const [first] = units;
  const type = first && (first.entry.device_type ?? deviceType(first.fn));
  if (!first || !type) return 'is in a pool whose members need a device_type';
  const { fn: physical, entry } = first;
  const choice = { physical, entry, type, offered: units.map(({ fn }) => fn) };
  const {
    numa_node: _numa,
    pcie_root: _root,
    ...described
  } = describeDevice(describer, choice, undefined);
  const place = present({
    numa_node: common(members, 'numa'),
    pcie_root: common(members, 'root'),
  });
  const partitioned = partitionedSets(describer.pools ?? []).flatMap((set) => set.functions);
  const handles = members.map(({ fn, entry, locality }) => ({
    ...toHandle(fn, entry, partitioned.includes(fn.address)),
    locality,
  }));
  const offers = described.offers && { ...described.offers, attach_handles: handles };
  const board = describeBoard(describer.sysfs, physical, place);
  return { ...described, address: name, std_board_info: board, ...place, ...present({ offers }) };
}

/** Where all members are; undefined if they are in several places. */
function common<Level extends 'numa' | 'root'>(members: readonly Member[], level: Level) {
  const [place, ...others] = new Set(members.map(({ locality }) => locality[level]));
  return others.length === 0 ? place : undefined;
}
