// The kinds of parts that a driver reports below a device, with the rules of each. The driver
// names the kind in its report.

import type { regionKinds } from '#core/shapes/vocabulary/words.ts';

type RegionKind = (typeof regionKinds)[number];

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
