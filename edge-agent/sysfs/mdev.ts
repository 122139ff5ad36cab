// Mediated devices, as the kernel's mdev bus shows and makes them.
// https://docs.kernel.org/driver-api/vfio-mediated-device.html

import type { MakesMdevs, Mdev } from '#agent/drivers/driver.ts';
import { pciAddress } from '#core/contracts/inventory-report.ts';
import type { Sysfs } from './root.ts';

const devices = 'bus/mdev/devices';
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

export interface MdevType {
  readonly type: string;
  /** As the driver calls it, such as `NVIDIA A40-2Q`. */
  readonly name?: string;
  /** What could be made of it now; types of one parent share what there is. */
  readonly available: number;
}

/** A write succeeded, and yet the mdev is not what was asked for. */
export class MdevNotMade extends Error {
  override readonly name = 'MdevNotMade';
}

export function createMdevs(sysfs: Sysfs): MakesMdevs {
  return {
    createMdev: async (mdev) => {
      await sysfs.writeAttribute(
        `${typesOf(mdev.address)}/${checkedName(mdev.type)}/create`,
        checkedUuid(mdev.uuid),
      );
      // Some drivers take the write and make nothing.
      const made = readMdev(sysfs, mdev.uuid);
      if (made?.type !== mdev.type || made.address !== mdev.address) {
        throw new MdevNotMade(`The driver made no ${mdev.type} of ${mdev.uuid}.`);
      }
    },
    removeMdev: async ({ uuid }) => {
      await sysfs.writeAttribute(`${devices}/${checkedUuid(uuid)}/remove`, '1');
      if (readMdev(sysfs, uuid)) throw new Error(`${uuid} is still there.`);
    },
    listMdevs: async () =>
      (sysfs.list(devices) ?? []).flatMap((uuid) => readMdev(sysfs, uuid) ?? []),
  };
}

/** The types that the driver of this function offers; none if it divides nothing. */
export function readMdevTypes(sysfs: Sysfs, address: string): MdevType[] {
  const directory = typesOf(address);
  const types = (sysfs.list(directory) ?? []).filter((type) => namePattern.test(type));
  return types.flatMap((type) => {
    const available = sysfs.readAttribute(`${directory}/${type}/available_instances`);
    // Gone since it was listed.
    if (available === undefined) return [];
    const name = sysfs.readAttribute(`${directory}/${type}/name`);
    return [{ type, ...(name && { name }), available: Number.parseInt(available, 10) || 0 }];
  });
}

/** Undefined if it is gone, or going. Its own directory is in that of its parent. */
function readMdev(sysfs: Sysfs, uuid: string): Mdev | undefined {
  if (!uuidPattern.test(uuid)) return undefined;
  const type = sysfs.linkName(`${devices}/${uuid}/mdev_type`);
  if (type === undefined) return undefined;
  const address = sysfs.resolve(`${devices}/${uuid}`).split('/').at(-2);
  return address === undefined ? undefined : { address, type, uuid };
}

function typesOf(address: string): string {
  if (!pciAddress.safeParse(address).success) {
    throw new Error(`${JSON.stringify(address)} is not a PCI address.`);
  }
  return `bus/pci/devices/${address}/mdev_supported_types`;
}

function checkedName(type: string): string {
  if (!namePattern.test(type)) throw new Error(`${JSON.stringify(type)} is not an mdev type.`);
  return type;
}

function checkedUuid(uuid: string): string {
  if (!uuidPattern.test(uuid)) throw new Error(`${JSON.stringify(uuid)} is not a uuid.`);
  return uuid;
}
