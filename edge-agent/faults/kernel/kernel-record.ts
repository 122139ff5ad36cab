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
  /** A PCI address, or the name of a device of a class, such as an NVMe controller or its disk. */
  readonly device: string;
  readonly text: string;
  /** The message does not prove which driver wrote it: it must have the device now. */
  readonly isUnproven?: true;
  /** The driver wrote it at the probe, so the device may have no driver: `10de:26b5`. */
  readonly probedIds?: string;
  /** The message names them, too: another device at the address is not meant. */
  readonly ids?: string;
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

/**
 * `ixgbe 0000:01:00.0 eth0: ...` is of the network interface, which has a state while it is not
 * registered: `bnxt_en 0000:01:00.0 (unnamed net_device) (uninitialized): ...`. Intel's drivers
 * name it by its PCI address until then: `igb 0000:01:00.0 0000:01:00.0 (uninitialized): ...`.
 */
const driverPattern =
  /^(\S{1,64}) ([0-9a-f:]{1,31}\.[0-7])(?: (?:\(unnamed net_device\)|\2|[^\s:]{1,15})(?: \(\w{1,16}\))?)?: (.+)$/;

/** Undefined for a message that is not about one device. */
export function readMessage(record: KernelRecord): DriverMessage | undefined {
  const { text: line, subsystem, device } = record;
  if (subsystem === 'pci') {
    const [, driver, address, rest] = driverPattern.exec(line) ?? [];
    if (!driver || !address || !rest || device !== `+pci:${address}`) return undefined;
    // Older mlx5_core repeats it: `mlx5_core 0000:03:00.0: 0000:03:00.0:poll_health:165: ...`.
    const text = rest.startsWith(`${address}:`) ? rest.slice(address.length + 1) : rest;
    return { driver, device: address, text };
  }
  // Up to Linux 5.0 the service of a port writes: `dpc 0000:00:1c.0:pcie010: ...`.
  if (subsystem === 'pci_express') {
    const [, address, service, rest] =
      /^\S{1,64} ([0-9a-f:.]{1,32}):(pcie\d{3}): (.+)$/.exec(line) ?? [];
    if (!address || !rest || device !== `+pci_express:${address}:${service}`) return undefined;
    return { driver: 'pcieport', device: address, text: rest };
  }
  if (subsystem === 'nvme') {
    const [, name, rest] = /^nvme (nvme\d{1,4}): (.+)$/.exec(line) ?? [];
    return name && rest ? { driver: 'nvme', device: name, text: rest } : undefined;
  }
  // A node of class habanalabs, or of class accel since Linux 6.5.
  if (subsystem === 'habanalabs' || subsystem === 'accel') {
    const [, name, rest] = /^(?:habanalabs|accel) ((?:hl|accel)\d{1,4}): (.+)$/.exec(line) ?? [];
    return name && rest ? { driver: 'habanalabs', device: name, text: rest } : undefined;
  }
  if (subsystem !== undefined || device !== undefined) return undefined;
  return readNvidia(line) ?? readBlock(line) ?? readHabana(line);
}

/** Later releases write of a failed start without fields, and with the address in the text. */
function readHabana(text: string): DriverMessage | undefined {
  const [, failed, address] =
    /^habanalabs: (Failed to initialize (?:accel|hl)\d{1,4}\. Device (\S{7,16}) is NOT usable ?!)$/.exec(
      text,
    ) ?? [];
  return unproven('habanalabs', address, failed);
}

/**
 * The block layer names the disk alone: `nvme0n1`, or `nvme0c0n1`, one of its paths. Up to Linux
 * 5.15 it names its function first.
 */
function readBlock(text: string): DriverMessage | undefined {
  const [, error, disk] =
    /^(?:\w{1,32}: )?(\w[\w ]{1,32} error, dev (nvme\d{1,4}(?:c\d{1,4})?n\d{1,4}), .*)$/.exec(
      text,
    ) ?? [];
  return disk && error
    ? { driver: 'nvme', device: disk, text: error, isUnproven: true }
    : undefined;
}

const instances = '(?: GPU-I:\\d+)?(?: GPU-CI:\\d+)?';
const xidPattern = new RegExp(
  `^NVRM: Xid \\(PCI:([0-9a-f:]{10,14})${instances}\\): (\\d{1,4}, .*)$`,
  'i',
);
const gpuPattern =
  /^NVRM: GPU ([0-9a-f:]{10,14}\.[0-7]): ((?:RmInitAdapter failed!|rm_init_adapter failed,|GPU has fallen off the bus).*)$/i;
/** The kernel escapes the newlines of one record; they may be records of their own, too. */
const probePattern =
  /^NVRM: The NVIDIA GPU ([0-9a-f:]{10,14}\.[0-7])\s*(?:\\x0a|\n)NVRM: \(PCI ID: ([0-9a-f]{4}:[0-9a-f]{4})\)\s*(?:(?:\\x0a|\n)NVRM: )?installed in this system (has)\s*(?:\\x0a|\n)NVRM: (fallen off the bus and is not responding.*)$/i;

/** NVIDIA's drivers write the address into the text, and no device below it. */
function readNvidia(text: string): DriverMessage | undefined {
  const xid = xidPattern.exec(text);
  if (xid) return unproven('nvidia', `${xid[1]}.0`, `Xid ${xid[2]}`);
  const gpu = gpuPattern.exec(text);
  if (gpu) return unproven('nvidia', gpu[1], gpu[2]);
  const [, address, ids = '', verb, rest] = probePattern.exec(text) ?? [];
  if (address) {
    const message = unproven('nvidia', address, `${verb} ${rest}`);
    return message && { ...message, probedIds: ids.toLowerCase() };
  }
  const sxid = /^nvidia-nvswitch\d+: SXid \(PCI:([0-9a-f:.]{12,16})\): (\d{1,6}, .*)$/i.exec(text);
  return sxid ? unproven('nvidia-nvswitch', sxid[1], `SXid ${sxid[2]}`) : undefined;
}

function unproven(driver: string, address = '', text = ''): DriverMessage | undefined {
  const parsed = parsePciAddress(address);
  if (!parsed) return undefined;
  return { driver, device: printPciAddress(parsed), text, isUnproven: true };
}
