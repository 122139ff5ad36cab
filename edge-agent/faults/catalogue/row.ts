// A row of the fault catalogue: a message of a kernel driver that is a fault of a device.

export interface FaultRow {
  /** Kept in the agent's state. */
  readonly id: string;
  /** Drivers whose messages count; absent for what the kernel's core writes in their name. */
  readonly drivers?: readonly string[];
  /** In what follows the driver and the device in the message. */
  readonly pattern: RegExp;
  /** A device with a fatal fault is not offered; a warning is shown. */
  readonly severity: 'fatal' | 'warning';
  /** A clause that completes "The device at <address> ...". */
  readonly meaning: string;
  readonly nextStep: string;
  /** A boot does not end it: an operator confirms the device after its repair. */
  readonly lasts?: true;
  /** Other devices have it, too: those below the port, or the GPUs that an NVSwitch links. */
  readonly reaches?: 'below' | 'linked';
  /** Where the message, its meaning and the step come from. */
  readonly source: string;
  /** The function or the component that prints the message. */
  readonly printedBy: string;
  /**
   * The compared releases of Linux, or branches of NVIDIA's drivers, that print the message: the
   * first, and the last unless it is the newest.
   */
  readonly releases?: readonly [first: string, last?: string];
}

export const linux = 'https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree';
export const afterRepair =
  'The device is offered again after a reboot of the host, or after its removal and a rescan of the bus.';
export const slot = `Check the slot, riser and power of the card, and power the host off and on. ${afterRepair}`;
export const restart = `Evacuate the host, and power it off and on. ${afterRepair}`;
export const watch = 'Watch the device: it stays offered. Replace it if this returns.';
export const afterReplacement =
  'A reboot does not end this: after the repair, run cyborg-agent confirm ADDRESS on the host.';
