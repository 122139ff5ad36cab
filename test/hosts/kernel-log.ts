// Makes a record of a kernel's log (`dmesg`) of the boot: it names each PCI function with its ids
// and class, and its IOMMU group.
//
//   pci 0000:05:00.0: [1002:740f] type 00 class 0x038000 PCIe Endpoint
//   pci 0000:05:00.0: Adding to iommu group 12

import type { RecordedFunction } from '#agent/record/host-record.ts';
import { RecordInvalid } from '#agent/record/host-record.ts';

const address = '([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7])';
const found = new RegExp(
  `pci ${address}: \\[([0-9a-f]{4}:[0-9a-f]{4})\\] type \\S+ class 0x([0-9a-f]{6})`,
);
const grouped = new RegExp(`${address}: Adding to iommu group (\\d+)`);

/** @throws RecordInvalid */
export function parseKernelLog(text: string): RecordedFunction[] {
  const functions = new Map<string, RecordedFunction>();
  for (const line of text.split('\n')) {
    const [, at, ids, classCode] = found.exec(line) ?? [];
    // Virtual functions, and devices that a bus finds again, come twice.
    if (at && ids && classCode && !functions.has(at)) {
      functions.set(at, { address: at, ids, classCode, values: {} });
    }
    const [, member = '', group] = grouped.exec(line) ?? [];
    const fn = functions.get(member);
    if (fn && group) functions.set(member, { ...fn, values: { ...fn.values, group } });
  }
  if (functions.size === 0) throw new RecordInvalid('The log names no PCI function.');
  return [...functions.values()].sort((one, other) => (one.address < other.address ? -1 : 1));
}
