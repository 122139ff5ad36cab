// What a driver is. One that finds devices needs `discover` only; anything more that a driver may be
// able to do is an interface of its own, which it may also implement.

import type { ReportedDevice } from '#core/contracts/inventory-report.ts';

export interface Driver {
  /** Stands in reports and, with or without `_driver` behind it, in the agent's settings. */
  readonly name: string;
  /**
   * The devices of this host, by the PCI address of their physical function. Rejects if it could not
   * look: an answer that lacks devices says that they are gone.
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
