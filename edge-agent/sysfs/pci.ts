// Reads PCI functions from sysfs. A host may have thousands (SR-IOV), so the first pass reads one
// attribute and two links of each; the rest is read only for functions that are offered.

import { parsePciAddress, printPciAddress } from './pci-address.ts';
import type { Sysfs } from './root.ts';

const devicesDirectory = 'bus/pci/devices';

/** Hexadecimal numbers are lower case, of full length, without `0x`. */
export interface PciFunction {
  readonly address: string;
  /** Below the sysfs root; a link. */
  readonly path: string;
  readonly vendorId: string;
  readonly productId: string;
  readonly subsystemId: string;
  /** Base class, subclass, programming interface. */
  readonly classCode: string;
  /** Absent if no driver is bound to it. */
  readonly boundDriver?: string;
  /** Absent if the IOMMU is off. */
  readonly iommuGroup?: string;
  /** Only of a virtual function: its physical function. */
  readonly physicalFunction?: string;
}

type Skipped = (address: string, reason: string) => void;

/**
 * All functions that can be read, in the order of their addresses. @throws if sysfs is not
 * mounted
 */
export function readPciFunctions(sysfs: Sysfs, skipped: Skipped): PciFunction[] {
  // Every kernel has buses. An empty sysfs means a container without sysfs, not a host without
  // devices.
  const names = sysfs.list(devicesDirectory);
  if (!names && !sysfs.list('bus')) throw new Error('sysfs is not mounted.');
  const functions: PciFunction[] = [];
  for (const name of [...(names ?? [])].sort()) {
    const parsed = parsePciAddress(name);
    if (!parsed) continue;
    try {
      const fn = readPciFunction(sysfs, name, printPciAddress(parsed));
      if (fn?.vendorId === 'ffff') skipped(fn.address, 'fell off the bus');
      else if (fn) functions.push(fn);
    } catch (error) {
      skipped(name, `cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
    }
  }
  return functions;
}

/**
 * Changes whenever a function appears or disappears. sysfs does not notify inotify about that,
 * and kernel uevents need a netlink socket, which Node lacks: so one directory is listed every
 * few seconds. Virtual functions are entries too, so `sriov_numvfs` is not read: that read takes
 * the device's lock and would hang behind a driver that hangs.
 */
export function pciSignature(sysfs: Sysfs): string {
  return [...(sysfs.list(devicesDirectory) ?? [])].sort().join();
}

const idLine = /^PCI_ID=([0-9A-F]+):([0-9A-F]+)$/im;
const subsystemLine = /^PCI_SUBSYS_ID=(.+)$/im;
const driverLine = /^DRIVER=(.+)$/m;
// The kernel prints it without leading zeros: `PCI_CLASS=30200`.
const classLine = /^PCI_CLASS=([0-9A-F]{1,6})$/im;

function readPciFunction(sysfs: Sysfs, name: string, address: string): PciFunction | undefined {
  const path = `${devicesDirectory}/${name}`;
  const uevent = sysfs.readAttribute(`${path}/uevent`);
  if (uevent === undefined) return undefined;
  const [, vendorId, productId] = idLine.exec(uevent) ?? [];
  const [, classCode] = classLine.exec(uevent) ?? [];
  if (!vendorId || !productId || !classCode) throw new Error('uevent lacks PCI_ID or PCI_CLASS');
  const boundDriver = driverLine.exec(uevent)?.[1];
  const iommuGroup = sysfs.linkName(`${path}/iommu_group`);
  const physicalFunction = physicalOf(sysfs, name);
  return {
    address,
    path,
    vendorId: vendorId.toLowerCase(),
    productId: productId.toLowerCase(),
    subsystemId: subsystemLine.exec(uevent)?.[1]?.toLowerCase() ?? '0000:0000',
    classCode: classCode.toLowerCase().padStart(6, '0'),
    ...(boundDriver && { boundDriver }),
    ...(iommuGroup && { iommuGroup }),
    ...(physicalFunction && { physicalFunction }),
  };
}

/** One function; undefined if it is not there. @throws if its data is invalid */
export function readPciFunctionAt(sysfs: Sysfs, address: string): PciFunction | undefined {
  return readPciFunction(sysfs, address, address);
}

/** The physical function of a virtual one. */
export function physicalOf(sysfs: Sysfs, address: string): string | undefined {
  return sysfs.linkName(`${devicesDirectory}/${address}/physfn`);
}

/** The functions of the same IOMMU group, itself included. */
export function readGroup(sysfs: Sysfs, fn: PciFunction): PciFunction[] {
  return namesInGroup(sysfs, fn).flatMap((name) => readPciFunction(sysfs, name, name) ?? []);
}

/** Their addresses. */
export function namesInGroup(sysfs: Sysfs, { iommuGroup }: PciFunction): readonly string[] {
  return (iommuGroup && sysfs.list(`kernel/iommu_groups/${iommuGroup}/devices`)) || [];
}

interface PciDetails {
  readonly revision: string;
  /** -1 if the firmware does not say. */
  readonly numaNode: number;
}

/** What cannot be read is described as unknown: it is shown, and decides nothing. */
export function readPciDetails(sysfs: Sysfs, { path }: PciFunction): PciDetails {
  const revision = readIfReadable(sysfs, `${path}/revision`) ?? '';
  const node = Number.parseInt(readIfReadable(sysfs, `${path}/numa_node`) ?? '', 10);
  return {
    revision: /^0x[0-9a-f]{2}$/.test(revision) ? revision : '0x00',
    numaNode: Number.isSafeInteger(node) ? node : -1,
  };
}

/** Where the function is in the host, as the report says it. */
export function readPlace(
  sysfs: Sysfs,
  fn: PciFunction,
): { numa_node?: number; pcie_root?: string } {
  const { numaNode } = readPciDetails(sysfs, fn);
  const root = findRootPort(sysfs, fn);
  return { ...(numaNode >= 0 && { numa_node: numaNode }), ...(root && { pcie_root: root }) };
}

/** The first function below the host bridge on the way to this one. */
function findRootPort(sysfs: Sysfs, fn: PciFunction): string | undefined {
  return readPortsAbove(sysfs, fn)[0];
}

/**
 * The upstream port of the PCIe switch that the function is below: its downstream ports are one
 * step nearer.
 */
export function findSwitch(sysfs: Sysfs, fn: PciFunction): string | undefined {
  const [, ...below] = readPortsAbove(sysfs, fn);
  return below.at(-2);
}

/** The functions between the host bridge and this one, from the host bridge on. */
function readPortsAbove(sysfs: Sysfs, { path, address }: PciFunction): string[] {
  try {
    const steps = sysfs.resolve(path).split('/');
    const bridge = steps.findIndex((step) => /^pci[0-9a-f]{4,}:[0-9a-f]{2}$/.test(step));
    if (bridge < 0) return [];
    const ports = steps.slice(bridge + 1).map((step) => parsePciAddress(step));
    return ports
      .flatMap((port) => (port ? [printPciAddress(port)] : []))
      .filter((port) => port !== address);
  } catch {
    return [];
  }
}

/** The ids of a card: another card in the slot is of another model, as a rule. */
export function cardIds({ vendorId, productId, subsystemId }: PciFunction): string {
  return `${vendorId}:${productId}:${subsystemId}`;
}

/** The ids of the card at the address; undefined if there is none, or it cannot be read. */
export function cardIdsAt(sysfs: Sysfs, address: string): string | undefined {
  try {
    const fn = readPciFunctionAt(sysfs, address);
    return fn && cardIds(fn);
  } catch {
    return undefined;
  }
}

/** A card's links to its virtual functions, by the kernel's numbers: `3` of `virtfn3`. */
export function virtualLinks(sysfs: Sysfs, { path }: Pick<PciFunction, 'path'>) {
  const names = (sysfs.list(path) ?? []).filter((name) => /^virtfn\d{1,5}$/.test(name));
  return names
    .map((name) => ({
      number: Number(name.slice('virtfn'.length)),
      address: sysfs.linkName(`${path}/${name}`),
    }))
    .sort((a, b) => a.number - b.number);
}

/** Undefined for a file that is absent or cannot be read. */
export function readIfReadable(sysfs: Sysfs, path: string): string | undefined {
  try {
    return sysfs.readAttribute(path);
  } catch {
    return undefined;
  }
}
