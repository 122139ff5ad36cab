// The interface of a driver. A driver that only finds devices needs `discover`; each further
// ability is an interface of its own.

import type { ReportedDevice } from '#core/contracts/inventory-report.ts';

export interface Driver {
  /** Stands in reports and, with or without `_driver` behind it, in the agent's settings. */
  readonly name: string;
  /**
   * The devices of this host, by the PCI address of their physical function. Rejects if it could
   * not look: an answer that lacks devices says that they are gone.
   */
  discover(): Promise<Readonly<Record<string, ReportedDevice>>>;
}

/** A driver that can tell cheaply, every few seconds, whether to look before the next tick. */
export interface NoticesChange {
  /** Different text, other devices. */
  signature(): string;
}

export function noticesChange(driver: Driver): driver is Driver & NoticesChange {
  return 'signature' in driver;
}

/** A driver of devices with regions that take images. */
export interface Programs {
  /**
   * The image has been checked against the region. Resolves when the region holds it and says so.
   * May be called again after a crash: then the region may hold anything, and is to be written
   * anew.
   */
  program(work: Programming, onProgress: (percent: number) => void): Promise<void>;
}

export interface Programming {
  readonly address: string;
  /** As in the device's report. */
  readonly region: string;
  /** What the region's `bitstream-id` is to be. */
  readonly imageId: string;
  readonly imagePath: string;
}

/** A driver of devices that can be divided into mediated devices. */
export interface MakesMdevs {
  /** Rejects with the kernel's error: EEXIST also if the uuid is another device's. */
  createMdev(mdev: Mdev): Promise<void>;
  /** Rejects also if a guest still has it. */
  removeMdev(mdev: Mdev): Promise<void>;
  /**
   * All mdevs of this host that the driver can see, including those that another program created.
   */
  listMdevs(): Promise<readonly Mdev[]>;
}

export interface Mdev {
  /** The parent's PCI address. */
  readonly address: string;
  readonly type: string;
  /** Lower case. */
  readonly uuid: string;
}

export function programs(driver: Driver): driver is Driver & Programs {
  return 'program' in driver;
}

export function makesMdevs(driver: Driver): driver is Driver & MakesMdevs {
  return 'createMdev' in driver;
}
