// What a driver brings to the kit: a host that has its devices, and the kernel's side of them.

import type { DriverModule } from '#agent/drivers/contract/define-driver.ts';
import type { HandleWork } from '#agent/drivers/contract/driver.ts';
import type { Hardware } from '#agent/hardware/port.ts';

export interface DriverFixture {
  readonly module: DriverModule;
  /** What stands under the driver's name in the agent's settings. */
  readonly settings?: unknown;
  /** Files below the sysfs root without which the driver may fail as a whole. */
  readonly bus?: readonly string[];
  /** Makes a new host, with at least one device; with two, the kit also hangs one of them. */
  readonly host: (place: Place) => FixtureHost;
}

export interface Place {
  /** The `directory` in the driver's context. */
  readonly directory: string;
  readonly bootId: () => string;
}

export interface FixtureHost {
  /** Root of its sysfs tree. */
  readonly root: string;
  /** Operations that have an effect in the kernel; the others read and write the tree's files. */
  readonly hardware?: Partial<Hardware>;
  /** Whether a run of a program only looks; others count as writes. */
  readonly isReading?: (tool: string, args: readonly string[]) => boolean;
  /** Uuids of what exists on the host for handles, such as mdevs. */
  readonly objects?: () => readonly string[];
  /** Another program makes another object under the uuid of a handle. */
  readonly makeForeign?: (handle: HandleWork) => void;
  /** The kernel's side of a boot: what does not survive it is gone. */
  readonly boot?: () => void;
  /**
   * Makes the next operation fail or hang, for a driver that does not write through the hardware
   * port; undefined ends the fault.
   */
  readonly fault?: (fault: DriverFault | undefined) => void;
  readonly remove: () => void;
}

export interface DriverFault {
  readonly verb: 'prepare' | 'clean';
  /** An error code, such as `ENOSPC`. */
  readonly code: string | 'hangs';
}

interface Tree {
  readonly root: string;
  remove(): void;
}

/** A host whose kernel is simulated on the tree. */
export function simulatedHost(
  tree: Tree,
  kernel: { hardware(): Partial<Hardware>; reboot(): void },
): FixtureHost {
  return {
    root: tree.root,
    hardware: kernel.hardware(),
    boot: () => kernel.reboot(),
    remove: () => tree.remove(),
  };
}
