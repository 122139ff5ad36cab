// The kinds of what a driver reports below a device, and what follows from each. A driver names
// the kind in its report; nothing else tells it.

export const regionKinds = [
  /** A part of an FPGA that can be reconfigured while the rest of the device runs. */
  'reconfigurable-region',
  /** A type of mediated devices, or a pool of them. */
  'mdev-type',
  /** A fixed part of a device, for example a GPU instance. */
  'partition',
] as const;
export type RegionKind = (typeof regionKinds)[number];

export interface RegionRules {
  /** An image can be programmed into it. */
  readonly isProgrammable: boolean;
  /**
   * All attach handles reach the same logic: a program for one holder changes it for every
   * holder.
   */
  readonly handlesShareContent: boolean;
}

/** One row per kind; the compiler names what a new kind lacks. */
export const regionRules: Readonly<Record<RegionKind, RegionRules>> = {
  'reconfigurable-region': { isProgrammable: true, handlesShareContent: true },
  'mdev-type': { isProgrammable: false, handlesShareContent: false },
  partition: { isProgrammable: false, handlesShareContent: false },
};
