// One record of /dev/kmsg (Linux, Documentation/ABI/testing/dev-kmsg), and the device that it is
// about. The kernel escapes newlines of a message, so no message can forge the lines below it.

import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';

export interface KernelRecord {
  readonly sequence: number;
  /** Since the boot. */
  readonly atMs: number;
  readonly text: string;
  /** The subsystem of the device that the message is about: `pci`. */
  readonly subsystem?: string;
  /** Its name, as `+pci:0000:3b:00.0`, or its number, as `c241:0`. */
  readonly device?: string;
}

/** A message of a driver about its device. */
export interface DriverMessage {
  /** The kernel's name of the driver; `pci` for a function without one. */
  readonly driver: string;
  /** A PCI address, or the kernel's name of an NVMe controller or of its disk. */
  readonly device: string;
  readonly text: string;
  /** The message does not prove which driver wrote it: it must have the device now. */
  readonly isUnproven?: true;
}

const recordPattern = /^(\d{1,4}),(\d{1,15}),(\d{1,15}),-[^;\n]*;([^\n]*)(\n[\s\S]*)?$/;
const textMax = 1024;

/**
 * Undefined for what a program wrote: the kernel never lets a program write as facility 0, which
 * is its own.
 */
export function parseRecord(record: string): KernelRecord | undefined {
  const [, priority, sequence, microseconds, text = '', more = ''] =
    recordPattern.exec(record) ?? [];
  if (priority === undefined || Number(priority) >> 3 !== 0) return undefined;
  const [, subsystem] = /^ SUBSYSTEM=(\S{1,64})$/m.exec(more) ?? [];
  const [, device] = /^ DEVICE=(\S{1,128})$/m.exec(more) ?? [];
  return {
    sequence: Number(sequence),
    atMs: Number(microseconds) / 1000,
    text: text.slice(0, textMax),
    ...(subsystem && { subsystem }),
    ...(device && { device }),
  };
}

/** Undefined for a message that is not about one device. */
export function readMessage(record: KernelRecord): DriverMessage | undefined {
  const { text, subsystem, device } = record;
  if (subsystem === 'pci') {
    const [, driver, address, rest] = /^(\S{1,64}) (\S{1,32}): (.+)$/.exec(text) ?? [];
    if (!driver || !address || !rest || device !== `+pci:${address}`) return undefined;
    return { driver, device: address, text: rest };
  }
  if (subsystem === 'nvme') {
    const [, name, rest] = /^nvme (nvme\d{1,4}): (.+)$/.exec(text) ?? [];
    return name && rest ? { driver: 'nvme', device: name, text: rest } : undefined;
  }
  if (subsystem !== undefined || device !== undefined) return undefined;
  return readNvidia(text) ?? readBlock(text);
}

/** The block layer names the disk alone: `nvme0n1`, or `nvme0c0n1`, one of its paths. */
function readBlock(text: string): DriverMessage | undefined {
  const [, disk] =
    /^\w[\w ]{1,32} error, dev (nvme\d{1,4}(?:c\d{1,4})?n\d{1,4}), /.exec(text) ?? [];
  return disk ? { driver: 'nvme', device: disk, text, isUnproven: true } : undefined;
}

/** NVIDIA's drivers write the address into the text, and no device below it. */
function readNvidia(text: string): DriverMessage | undefined {
  const xid = /^NVRM: Xid \(PCI:([0-9a-f:]{10,14})(?: GPU-I:\d+)?\): (\d{1,4}, .*)$/i.exec(text);
  if (xid) return unproven('nvidia', `${xid[1]}.0`, `Xid ${xid[2]}`);
  const adapter = /^NVRM: GPU ([0-9a-f:]{10,14}\.0): (RmInitAdapter failed!.*)$/i.exec(text);
  if (adapter) return unproven('nvidia', adapter[1], adapter[2]);
  const sxid = /^nvidia-nvswitch\d+: SXid \(PCI:([0-9a-f:.]{12,16})\): (\d{1,6}, .*)$/i.exec(text);
  return sxid ? unproven('nvidia-nvswitch', sxid[1], `SXid ${sxid[2]}`) : undefined;
}

function unproven(driver: string, address = '', text = ''): DriverMessage | undefined {
  const parsed = parsePciAddress(address);
  if (!parsed) return undefined;
  return { driver, device: printPciAddress(parsed), text, isUnproven: true };
}
