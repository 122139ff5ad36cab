// Serial numbers of PCI devices: the Device Serial Number capability of PCI Express (Base
// Specification 5.0, 7.9.3). It stays with a card in another slot.

import type { Hardware } from '#agent/hardware/port.ts';
import { cardIds, type PciFunction } from '#agent/sysfs/pci.ts';

/** The lengths of configuration space as sysfs shows it: PCI Express, PCI, and not to root. */
export const configLengths = [4096, 256, 64] as const;

const firstCapability = 0x100;
const serialNumber = 0x0003;
/** The list is in the device: more than fit into the space are a loop. */
const capabilitiesMax = (4096 - firstCapability) / 4;

export interface Serials {
  /** Address → serial number; a device without one is absent. */
  read(functions: readonly PciFunction[]): Promise<ReadonlyMap<string, string>>;
}

/** Remembers what it has read while the devices stay: each read is a child process. */
export function createSerials(hardware: Hardware): Serials {
  let serials = new Map<string, string | undefined>();
  return {
    read: async (functions) => {
      const unread = functions.filter((fn) => !serials.has(cardKey(fn)));
      const files = unread.map(({ address, path }) => ({
        device: address,
        path: `${path}/config`,
      }));
      const reads = files.length > 0 ? await hardware.readStarts(files, configLengths) : [];
      const next = new Map<string, string | undefined>();
      for (const fn of functions) {
        if (serials.has(cardKey(fn))) next.set(cardKey(fn), serials.get(cardKey(fn)));
      }
      for (const [index, fn] of unread.entries()) {
        const read = reads[index];
        // A device that cannot be read now is read again at the next discovery.
        if (Buffer.isBuffer(read)) next.set(cardKey(fn), parseSerial(read));
      }
      serials = next;
      return new Map(
        functions.flatMap((fn) => {
          const serial = serials.get(cardKey(fn));
          return serial ? [[fn.address, toIdentity(fn, serial)] as const] : [];
        }),
      );
    },
  };
}

/** Another card in the slot between two discoveries is of another model, as a rule. */
function cardKey(fn: PciFunction): string {
  return `${fn.address} ${cardIds(fn)}`;
}

/** All functions of a card have its serial number. */
function toIdentity({ address }: PciFunction, serial: string): string {
  return `${serial}.${address.split('.').at(-1)}`;
}

/**
 * The spelling is lspci's, from the highest byte on; undefined if the device has none.
 *
 * @param config configuration space from its beginning
 */
export function parseSerial(config: Buffer): string | undefined {
  let at = firstCapability;
  for (let seen = 0; seen < capabilitiesMax; seen += 1) {
    if (at < firstCapability || at + 12 > config.length) return undefined;
    const header = config.readUInt32LE(at);
    if ((header & 0xffff) === serialNumber) {
      const bytes = [...config.subarray(at + 4, at + 12)].reverse();
      const isNone = bytes.every((byte) => byte === 0) || bytes.every((byte) => byte === 0xff);
      return isNone ? undefined : bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('-');
    }
    // The last capability points to 0; an absent list is all zeros or all ones.
    at = (header >>> 20) & 0xffc;
  }
  return undefined;
}
