// The contract between the agent and its drivers. A driver knows one kind of hardware: it finds
// the devices and, where a handle needs it, prepares the handle for a holder and cleans it after
// the holder. The agent does everything else: claims, epochs, the checkpoint, resumption after a
// crash, time limits and reports.

import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

export interface Driver<Device extends DescribedDevice = ReportedDevice> {
  /** The name in reports and, with or without `_driver` appended, in the agent's settings. */
  readonly name: string;
  /**
   * Finds the devices of this host. Rejects if discovery failed: a device that is missing in the
   * answer counts as gone. Changes nothing.
   */
  discover(): Promise<Discovery<Device>>;
  /** A cheap text, asked for every few seconds, that changes whenever the devices change. */
  signature?(): string;
  /**
   * The changes that the host needs to be as the settings say, in their order. Changes nothing.
   * Asked before each discovery, and again after changes were applied, because one change may
   * make another possible: virtual functions exist before they are bound.
   */
  plan?(): Promise<readonly HostChange[]>;
  /**
   * Makes ready what a handle stands for. Only for handles that `discover` reports with `prepare:
   * 'at-bind'`, after `find` has not found it. Rejects with the kernel's error.
   */
  prepare?(handle: HandleWork): Promise<Prepared>;
  /**
   * Erases what the last holder may have left. Only for handles that `discover` reports with
   * `clean_seconds`. May be called again after a crash. Rejects unless the handle is clean.
   */
  clean?(handle: HandleWork, onProgress: (percent: number) => void): Promise<Evidence>;
  /**
   * What exists on this host under the handle's uuid, whichever program made it. Without it the
   * handle stands for hardware, which is always there.
   */
  find?(handle: HandleWork): Promise<Found>;
  /** Present if devices have regions that take images. */
  readonly images?: Images;
  /** Present if devices have components that take images: a shell, or firmware. */
  readonly components?: Components;
  /**
   * Which versions of programs the driver would run on this host, and whether it knows what they
   * print. For the commands `check` and `self-test`; changes nothing.
   */
  examineTools?(): Promise<readonly Observation[]>;
  /**
   * What the driver assumes of the hardware, and what this host shows of it. For the command
   * `self-test`; changes nothing.
   */
  examine?(): Promise<readonly Observation[]>;
}

export interface Observation {
  /** The device's; absent for the host itself. */
  readonly address?: string;
  /** `not seen` where the host has nothing that shows it. */
  readonly outcome: 'seen' | 'not seen' | 'failed';
  /** A sentence: "The tool prints the state of the ports as JSON." */
  readonly what: string;
}

/** A device as its driver describes it; without `regions` it has none. */
export type DescribedDevice = Omit<ReportedDevice, 'regions'> &
  Partial<Pick<ReportedDevice, 'regions'>>;

export interface Discovery<Device extends DescribedDevice = ReportedDevice> {
  /** PCI address of the physical function → device. */
  readonly devices: Readonly<Record<string, Device>>;
  /** What the settings name, and why it is not offered. */
  readonly notOffered?: readonly NotOffered[];
}

export interface NotOffered {
  readonly address: string;
  /** A clause that completes "The device at <address> ...": `has a mounted file system`. */
  readonly reason: string;
}

/** One difference between the host and the settings. */
export interface HostDifference {
  /** PCI address of what changes. */
  readonly address: string;
  /** Completes "The ... of <address> is <before>, not <after>": `number of virtual functions`. */
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

/** A difference, and either how it ends or why it cannot end now. */
export type HostChange = HostDifference & (Applicable | Refused);

interface Applicable {
  /**
   * Checks again that nothing uses what it changes, because the plan may be old; applies the
   * change, and verifies what the kernel did. Rejects with the reason.
   */
  readonly apply: () => Promise<void>;
}

interface Refused {
  /** A clause, as a rule about what uses the device: `0000:3b:00.1 is offered to guests`. */
  readonly refusal: string;
}

/** An attach handle of one of the driver's devices. */
export interface HandleWork {
  /** The device's key in `discover`. */
  readonly address: string;
  /** Lower case. */
  readonly uuid: string;
  readonly type: ReportedHandleType;
  readonly info: Readonly<Record<string, string>>;
}

type Offering = NonNullable<ReportedDevice['offers']>;
export type ReportedHandleType = Offering['attach_handles'][number]['type'];

export interface Prepared {
  /** The handle's `info` from now on, where the host has chosen the object that carries it. */
  readonly info?: Readonly<Record<string, string>>;
}

export type Found =
  /** The handle stands for hardware, which is always there. */
  | { readonly state: 'hardware' }
  | { readonly state: 'absent' }
  | ({ readonly state: 'ready' } & Prepared)
  /** Another object has the uuid. */
  | { readonly state: 'other'; readonly what: string };

export interface Images {
  /** Rejects an image that is not for the region's interface; reads nothing else. */
  check(imagePath: string, interfaceUuid: string): Promise<unknown>;
  /**
   * Resolves when the region holds the image and reports it. May be called again after a crash:
   * the content of the region is then unknown, and the driver writes all of it.
   */
  write(image: RegionImage, onProgress: (percent: number) => void): Promise<void>;
}

/**
 * The verbs of a device's components. The agent calls them in this order, keeps which one has
 * begun, and reads back by `list` what the component runs.
 */
export interface Components {
  /** What the components of a device run. Changes nothing. Empty for a device without any. */
  list(address: string): Promise<readonly ReportedComponent[]>;
  /** Rejects an image that the component does not take. Changes nothing of the device. */
  check(image: ComponentImage): Promise<unknown>;
  /** Resolves when the image is stored. Called again after a crash, it writes all of it. */
  write(image: ComponentImage, onProgress: (percent: number) => void): Promise<void>;
  /** Has the component run what was written, or says that only a power cycle does. */
  activate(image: ComponentImage): Promise<Activation>;
}

export type ReportedComponent = NonNullable<ReportedDevice['components']>[number];
export type Activation = 'active' | 'power-cycle';

export interface ComponentPlace {
  readonly address: string;
  /** Its name in `list`. */
  readonly component: string;
}

export interface ComponentImage extends ComponentPlace {
  readonly imagePath: string;
  /** What `list` must show when the component runs it. */
  readonly version: string;
}

export interface RegionImage {
  readonly address: string;
  /** The region's name in the device's report. */
  readonly region: string;
  /** The region's `bitstream-id` after programming. */
  readonly imageId: string;
  readonly imagePath: string;
}
