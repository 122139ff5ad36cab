// Mediated devices in sysfs:
// https://docs.kernel.org/driver-api/vfio-mediated-device.html
// https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-vfio-mdev

import { isKernelName } from '#core/contracts/attach-handle.ts';
import { parsePciAddress, printPciAddress } from './pci-address.ts';
import type { Sysfs } from './root.ts';

const parentsDirectory = 'class/mdev_bus';
const mdevsDirectory = 'bus/mdev/devices';

/** A device that can be divided: as a rule a physical or a virtual PCI function. */
export interface MdevParent {
  /** The function's; the kernel's name where the parent is no function, such as `mtty`. */
  readonly address: string;
  /** The physical function of a virtual one, else the address itself. */
  readonly physical: string;
  /** Below the sysfs root. */
  readonly path: string;
}

/** In the order of addresses. */
export function readMdevParents(sysfs: Sysfs): MdevParent[] {
  const names = [...(sysfs.list(parentsDirectory) ?? [])].sort();
  return names.flatMap((name) => {
    const path = `${parentsDirectory}/${name}`;
    const parsed = parsePciAddress(name);
    if (!parsed) return isKernelName(name) ? [{ address: name, physical: name, path }] : [];
    const address = printPciAddress(parsed);
    try {
      return [{ address, physical: findPhysical(sysfs, path) ?? address, path }];
    } catch {
      // Whether it is a virtual function is unknown.
      return [];
    }
  });
}

function findPhysical(sysfs: Sysfs, path: string): string | undefined {
  const name = sysfs.linkName(`${path}/physfn`);
  const parsed = name === undefined ? undefined : parsePciAddress(name);
  if (name !== undefined && !parsed) throw new Error(`${path}/physfn is not a PCI function.`);
  return parsed && printPciAddress(parsed);
}

/** The directory of a type, `<driver>-<type>`; whether the parent has it or not. */
export function typeDirectory({ path }: MdevParent, type: string): string {
  return `${path}/mdev_supported_types/${type}`;
}

export function hasType(sysfs: Sysfs, parent: MdevParent, type: string): boolean {
  try {
    return sysfs.list(typeDirectory(parent, type)) !== undefined;
  } catch {
    return false;
  }
}

/** Names of the parent's types. */
export function listTypes(sysfs: Sysfs, { path }: MdevParent): string[] {
  try {
    return [...(sysfs.list(`${path}/mdev_supported_types`) ?? [])].sort();
  } catch {
    return [];
  }
}

export interface ExistingMdev {
  /** Lower case, as the kernel spells it. */
  readonly uuid: string;
  /** Name of its parent's directory; empty if it cannot be read. */
  readonly parent: string;
  readonly type: string;
}

/** All mdevs of the host, whichever program made them. */
export function readMdevs(sysfs: Sysfs): ExistingMdev[] {
  return (sysfs.list(mdevsDirectory) ?? []).flatMap((uuid) => {
    try {
      return readMdev(sysfs, uuid) ?? [];
    } catch {
      return { uuid: uuid.toLowerCase(), parent: '', type: '' };
    }
  });
}

/** Undefined if it does not exist, or is just being removed. */
export function readMdev(sysfs: Sysfs, uuid: string): ExistingMdev | undefined {
  const path = `${mdevsDirectory}/${uuid}`;
  const type = sysfs.linkName(`${path}/mdev_type`);
  const parent = type && parentName(sysfs, path);
  return parent ? { uuid: uuid.toLowerCase(), parent, type } : undefined;
}

/** An mdev's own directory is in its parent's. */
function parentName(sysfs: Sysfs, path: string): string | undefined {
  try {
    const name = sysfs.resolve(path).split('/').at(-2) ?? '';
    const parsed = parsePciAddress(name);
    return parsed ? printPciAddress(parsed) : name;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
