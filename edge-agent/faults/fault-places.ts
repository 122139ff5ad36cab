// Which devices a message of the kernel is about.

import { isOnSwitches } from '#agent/drivers/pci/fitness/boards.ts';
import { findParents } from '#agent/guards/owner.ts';
import {
  cardIdsAt,
  type PciFunction,
  readPciFunctionAt,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { DriverMessage } from './kernel/kernel-record.ts';

const devices = 'bus/pci/devices';

export interface FaultPlaces {
  /** The physical function that the message is about; undefined if that is not sure. */
  find(message: DriverMessage): string | undefined;
  /** The physical functions below a port, without ports. */
  below(port: string): readonly string[];
  /** The GPUs on the boards of the host's NVSwitches, each of which links all of them. */
  linked(): readonly string[];
  /** The ids of the card at the address; undefined if there is none. */
  idsAt(address: string): string | undefined;
  /** The kernel has logged the PCI address of an NVMe controller. */
  nameController(name: string, address: string): void;
  /** From now on messages are as new as the links in sysfs. */
  goLive(): void;
}

export function createFaultPlaces(sysfs: Sysfs): FaultPlaces {
  /** PCI addresses of NVMe controllers, by names that the kernel gives again to others. */
  const controllers = new Map<string, string>();
  let isLive = false;

  const unlessUnreadable = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch {
      return undefined;
    }
  };
  const linkName = (path: string) => unlessUnreadable(() => sysfs.linkName(path));
  const functionAt = (address: string) => unlessUnreadable(() => readPciFunctionAt(sysfs, address));

  const idsOf = (address: string) => {
    const fn = functionAt(address);
    return fn && `${fn.vendorId}:${fn.productId}`;
  };

  const controllerAt = (name: string): string | undefined => {
    const isDisk = /n\d+$/.test(name);
    if (!isLive) return isDisk ? undefined : controllers.get(name);
    const controller = isDisk ? linkName(`class/block/${name}/device`) : name;
    if (!controller) return undefined;
    return controllers.get(controller) ?? linkName(`class/nvme/${controller}/device`);
  };
  /** A node of habanalabs: its class has a link to the device, or a file with its address. */
  const processorAt = (name: string): string | undefined => {
    if (!isLive) return undefined;
    const path = `class/${name.startsWith('accel') ? 'accel' : 'habanalabs'}/${name}`;
    const file = () => sysfs.readAttribute(`${path}/pci_addr`)?.trim();
    const link = linkName(`${path}/device`);
    return link && parsePciAddress(link) ? link : unlessUnreadable(file);
  };
  const nameOf = ({ driver, device }: DriverMessage): string | undefined => {
    if (driver === 'nvme' && device.startsWith('nvme')) return controllerAt(device);
    if (driver === 'habanalabs' && /^(hl|accel)\d/.test(device)) return processorAt(device);
    return device;
  };
  /** At the probe of a driver the device has no driver, if it failed. */
  const isOfDriver = ({ driver, probedIds }: DriverMessage, address: string): boolean => {
    const bound = linkName(`${devices}/${address}/driver`);
    if (bound !== undefined || probedIds === undefined) return bound === driver;
    return idsOf(address) === probedIds;
  };

  return {
    find: (message) => {
      const parsed = parsePciAddress(nameOf(message) ?? '');
      if (!parsed) return undefined;
      const address = printPciAddress(parsed);
      if (message.isUnproven && !isOfDriver(message, address)) return undefined;
      if (message.ids !== undefined && idsOf(address) !== message.ids) return undefined;
      return linkName(`${devices}/${address}/physfn`) ?? address;
    },
    below: (port) => {
      const names = unlessUnreadable(() => sysfs.list(devices)) ?? [];
      return names.filter((name) => {
        const parents = unlessUnreadable(() => findParents(sysfs, `${devices}/${name}`)) ?? [];
        const isCard = linkName(`${devices}/${name}/physfn`) === undefined;
        return parents.includes(port) && isCard && !functionAt(name)?.classCode.startsWith('0604');
      });
    },
    linked: () => {
      const all = unlessUnreadable(() => readPciFunctions(sysfs, () => {})) ?? [];
      const isCard = ({ address }: PciFunction) =>
        linkName(`${devices}/${address}/physfn`) === undefined;
      const gpus = all.filter((fn) => isOnSwitches(fn, all) && isCard(fn));
      return gpus.map(({ address }) => address);
    },
    idsAt: (address) => cardIdsAt(sysfs, address),
    nameController: (name, address) => controllers.set(name, address),
    goLive: () => {
      isLive = true;
    },
  };
}
