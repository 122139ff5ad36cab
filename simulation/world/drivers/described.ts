// Parts of the reports of simulated devices.

import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { Hardware } from '#simulation/world/hardware.ts';

export function described(
  address: string,
  driver: string,
  type: ReportedDevice['type'],
  vendor: string,
): ReportedDevice {
  return { address, driver, type, vendor, product: '0x0001', model: 'simulated', regions: [] };
}

/** A region of another interface than that of the images. */
export function describedRegion(name: string, bus: string): ReportedDevice['regions'][number] {
  return {
    name,
    kind: 'reconfigurable-region',
    resource_class: 'FPGA',
    traits: [],
    'region-type-uuid': '6d2bd2d0-8ab1-5f2f-a6a0-5cbd5a1a8d29',
    attach_handles: pciHandles(1, bus),
  };
}

export function pciHandles(
  count: number,
  bus: string,
  { cleanSeconds }: Hardware['nic'] = { more: 0 },
): ReportedHandle[] {
  return Array.from({ length: count }, (_, index) => ({
    type: 'PCI' as const,
    info: { domain: '0000', bus, device: '01', function: String(index) },
    ...(cleanSeconds && { clean_seconds: cleanSeconds }),
  }));
}

export function discoveryOf({ present }: Hardware, address: string, device: ReportedDevice) {
  return { devices: present.has(address) ? { [address]: device } : {} };
}
