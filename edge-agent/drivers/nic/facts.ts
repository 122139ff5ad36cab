// What a host reports of a network card: its interface, switch, firmware and health.

import { createDates, type UndatedHealth } from '#agent/drivers/contract/dated-health.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { aerHealth } from '#agent/drivers/pci/health.ts';
import { readFirmwareVersions } from '#agent/hardware/devlink.ts';
import { reasonOf } from '#agent/log.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type Interfaces, type Link, type Ports, readLink } from './link.ts';

/** The card's interface as it is now, or a clause why it is not known. */
export type NicLook =
  | { readonly interfaces: Interfaces; readonly link: Link }
  | { readonly fault: string };

/** Names of the firmware as a whole (Linux, Documentation/networking/devlink/devlink-info). */
const firmwareNames = ['fw', 'fw.version', 'fw.mgmt', 'fw.bundle_id'];

export type NicFacts = ReturnType<typeof createNicFacts>;

/** @param busy cards that must not be asked now: they are as they were before */
export function createNicFacts(context: DriverContext, ports: Ports, busy: ReadonlySet<string>) {
  const { hardware, sysfs } = context;
  const looks = new Map<string, NicLook>();
  const firmware = new Map<string, string | undefined>();
  const dated = createDates(context);

  /** Most drivers report none, and a card on a VFIO driver has none. */
  const readFirmware = async ({ address, boundDriver = '' }: PciFunction) => {
    const key = `${address} ${boundDriver}`;
    if (!firmware.has(key) && !busy.has(address)) {
      const version = await readFirmwareVersions({ hardware, address })
        .then(({ running }) => firstVersion(running))
        .catch(() => undefined);
      firmware.set(key, version);
    }
    return firmware.get(key);
  };

  const lookNow = async (fn: PciFunction): Promise<NicLook> => {
    let interfaces: Interfaces;
    try {
      interfaces = await ports.interfacesOf(fn);
    } catch (error) {
      return { fault: reasonOf(error) };
    }
    try {
      return { interfaces, link: await readLink(context, fn, interfaces.uplink) };
    } catch (error) {
      return { fault: `cannot show its virtual functions (${reasonOf(error)})` };
    }
  };

  return {
    /** Another one may run now. */
    forgetFirmware: () => firmware.clear(),
    look: async (fn: PciFunction): Promise<NicLook> => {
      const { address } = fn;
      if (busy.has(address)) return looks.get(address) ?? { fault: 'is being programmed' };
      const look = await lookNow(fn);
      looks.set(address, look);
      return look;
    },
    /** @param fault why its virtual functions cannot be restored now */
    describe: async (
      device: ReportedDevice,
      fn: PciFunction,
      look: NicLook,
      fault: string | undefined,
    ): Promise<ReportedDevice> => {
      const version = await readFirmware(fn);
      const link = 'link' in look ? look.link : undefined;
      const health = dated(fn.address, toHealth(aerHealth(sysfs, fn, ''), link, fault));
      const attributes = toAttributes(look);
      return {
        ...device,
        ...(version && { firmware: version }),
        ...present({ health }),
        ...(Object.keys(attributes).length > 0 && { attributes }),
        ...(device.offers && {
          offers: {
            ...device.offers,
            traits: [...device.offers.traits, ...(link?.switchId ? ['CUSTOM_NIC_SWITCHDEV'] : [])],
          },
        }),
      };
    },
  };
}

function toHealth(
  errors: ReportedDevice['health'],
  link: Link | undefined,
  fault: string | undefined,
): UndatedHealth | undefined {
  if (fault !== undefined) return { state: 'unhealthy', reason: fault.slice(0, 255) };
  const isDown = link?.isUp === true && !link.hasCarrier;
  if (!isDown || errors?.state === 'unhealthy') return errors;
  return { state: 'degraded', reason: `has no link at its interface ${link.name}` };
}

function toAttributes(look: NicLook): Record<string, string> {
  if (!('link' in look)) return {};
  const { link, interfaces } = look;
  return {
    interface: link.name,
    eswitch: link.switchId ? 'switchdev' : 'legacy',
    ...(link.switchId && { switch_id: link.switchId }),
    ...(link.switchId && { representors: String(interfaces.representors.length) }),
  };
}

/** Pure. */
function firstVersion(running: Readonly<Record<string, string>>): string | undefined {
  const name = firmwareNames.find((each) => running[each] !== undefined);
  return name === undefined ? undefined : running[name];
}
