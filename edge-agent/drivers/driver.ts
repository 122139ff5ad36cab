// The interface of a driver. A driver that only finds devices needs `discover`; each further
// ability is an interface of its own.

import type { ReportedDevice } from '#core/contracts/inventory-report.ts';

export interface Driver {
  /** The name in reports and, with or without `_driver` appended, in the agent's settings. */
  readonly name: string;
  /**
   * The devices of this host, by the PCI address of their physical function. Rejects if discovery
   * failed: a device that is missing in the answer counts as gone.
   */
  discover(): Promise<Readonly<Record<string, ReportedDevice>>>;
}

/** A driver with a cheap check, every few seconds, for changes of its devices. */
export interface NoticesChange {
  /** The text changes whenever the devices change. */
  signature(): string;
}

export function noticesChange(driver: Driver): driver is Driver & NoticesChange {
  return 'signature' in driver;
}

/** A driver of devices with regions that take images. */
export interface Programs {
  /**
   * Called after the image was checked against the region. Resolves when the region holds the
   * image and reports it. May be called again after a crash: the content of the region is then
   * unknown, and the driver writes all of it.
   */
  program(work: Programming, onProgress: (percent: number) => void): Promise<void>;
}

export interface Programming {
  readonly address: string;
  /** The region's name in the device's report. */
  readonly region: string;
  /** The region's `bitstream-id` after programming. */
  readonly imageId: string;
  readonly imagePath: string;
}

/** A driver of devices that can be divided into mediated devices. */
export interface MakesMdevs {
  /** Rejects with the kernel's error: EEXIST also if another device has the uuid. */
  createMdev(mdev: Mdev): Promise<void>;
  /** Rejects also if a guest still uses it. */
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
