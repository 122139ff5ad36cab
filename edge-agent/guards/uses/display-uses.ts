// Which devices show the host's screen: the display of the boot, one with a framebuffer, and that
// of the management controller (BMC), through which an operator reaches a host without a network.

import { findOwner } from '#agent/guards/owner.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { Note } from './uses.ts';

/** pci.ids 2026.08.22: ASPEED, Matrox G200 in servers, HiSilicon Hi1710. */
const managementDisplays =
  /^(1a03:(1180|2000)|102b:(0522|0530|0532|0533|0534|0536|0538)|19e5:1711)$/;

export function isDisplay({ classCode }: PciFunction): boolean {
  return classCode.startsWith('03');
}

export function noteDisplayUses(
  sysfs: Sysfs,
  displays: readonly PciFunction[],
  note: Note,
): undefined {
  const framebuffers = (sysfs.list('class/graphics') ?? []).filter((name) => /^fb\d+$/.test(name));
  const owned = framebuffers.map((name) => ({
    name,
    owner: findOwner(sysfs, `class/graphics/${name}`),
  }));
  // Before Linux 6.9 a framebuffer of the firmware has no PCI device: it is in the boot display.
  const firmware = owned.find(({ owner }) => owner === undefined)?.name;
  for (const { address, path, vendorId, productId, boundDriver } of displays) {
    if (managementDisplays.test(`${vendorId}:${productId}`)) {
      note(address, { kind: 'management-display' });
    }
    const name = owned.find(({ owner }) => owner === address)?.name;
    const isBoot = sysfs.readAttribute(`${path}/boot_vga`) === '1';
    const framebuffer = name ?? (isBoot ? firmware : undefined);
    if (framebuffer !== undefined) note(address, { kind: 'screen', framebuffer });
    // An operator who binds the boot display to VFIO's driver at boot has a host without a screen.
    else if (isBoot && !boundDriver?.includes('vfio')) note(address, { kind: 'boot-display' });
  }
}
