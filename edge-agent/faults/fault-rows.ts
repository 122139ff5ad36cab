// Which messages of the kernel are a fault of a device. Only messages of hardware that failed:
// what a program or a guest can cause by itself is not here. A table for each kind of source.

import { diskRows } from './catalogue/disks.ts';
import { networkRows } from './catalogue/networks.ts';
import { nvidiaRows } from './catalogue/nvidia.ts';
import { pcieRows } from './catalogue/pcie.ts';
import { processorRows } from './catalogue/processors.ts';
import type { FaultRow } from './catalogue/row.ts';
import type { DriverMessage } from './kernel/kernel-record.ts';

export type { FaultRow } from './catalogue/row.ts';

export const faultRows: readonly FaultRow[] = [
  ...nvidiaRows,
  ...pcieRows,
  ...processorRows,
  ...networkRows,
  ...diskRows,
];

/** The first row that the message is of. */
export function findFault({ driver, text }: DriverMessage): FaultRow | undefined {
  return faultRows.find(
    ({ drivers, pattern }) => (drivers?.includes(driver) ?? true) && pattern.test(text),
  );
}
