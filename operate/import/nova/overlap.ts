// Whether two entries of nova.conf may match one device. Pure.

import type { Address, DeviceSpec } from '#core/contracts/nova/pci-forms.ts';

export function mayBeSame(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || one === other;
}

/** True if a device may match both. The address of a card stands for its virtual functions. */
export function mayOverlap(one: DeviceSpec, other: DeviceSpec): boolean {
  if (!mayBeSame(one.vendor, other.vendor) || !mayBeSame(one.product, other.product)) return false;
  const [a, b] = [one.address, other.address];
  if (!a || !b) return true;
  const meets = (index: 0 | 1 | 2 | 3) =>
    a[index] === '*' || b[index] === '*' || a[index] === b[index];
  const isCard = (address: Address) => !address.includes('*') && address[3] === '0';
  return meets(0) && meets(1) && ((meets(2) && meets(3)) || isCard(a) || isCard(b));
}
