// Which PCI function an entry of sysfs belongs to. Entries of /sys/class are links whose target
// names every device on the way; the last PCI address in it is the function itself.

import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';

export function findOwner(sysfs: Sysfs, entry: string): string | undefined {
  const parts = sysfs.linkTarget(entry)?.split('/') ?? [];
  for (const part of parts.reverse()) {
    const parsed = parsePciAddress(part);
    if (parsed) return printPciAddress(parsed);
  }
  return undefined;
}

/** Addresses of the functions above a function, the nearest last. */
export function findParents(sysfs: Sysfs, path: string): string[] {
  const steps = sysfs.linkTarget(path)?.split('/') ?? [];
  return steps
    .flatMap((step) => parsePciAddress(step) ?? [])
    .map(printPciAddress)
    .slice(0, -1);
}
