// What hosts report, as a test needs it: it names only what matters to it.

import { digestOf } from '#core/contracts/device-digest.ts';
import {
  discoveredDevice,
  type InventoryReport,
  type ReportedDevice,
} from '#core/contracts/inventory-report.ts';
import type { DiscoveredDevice } from '#core/domain/device.ts';

export function aHandle(index: number, type: 'PCI' | 'TEST_PCI' | 'MDEV' = 'TEST_PCI') {
  return {
    type,
    info: { domain: '0000', bus: '0c', device: `${index >> 3}`, function: `${index & 7}` },
  };
}

/** The fake driver's device: class FPGA, `handles` accelerators. */
export function aDevice(
  given: Partial<ReportedDevice> & { handles?: number } = {},
): ReportedDevice {
  const { handles = 2, ...rest } = given;
  return {
    address: '0000:0c:00.0',
    driver: 'fake_driver',
    type: 'FPGA',
    vendor: '0xABCD',
    product: '0xabcd',
    model: 'miss model info',
    provider_suffix: 'FakeDevice',
    offers: {
      resource_class: 'FPGA',
      traits: ['CUSTOM_FAKE_DEVICE'],
      attach_handles: Array.from({ length: handles }, (_, index) => aHandle(index + 1)),
    },
    regions: [],
    ...rest,
  };
}

export function discovered(device: ReportedDevice): DiscoveredDevice {
  return discoveredDevice(device);
}

export const bootId = '11111111-1111-4111-8111-111111111111';

export function aReport(
  devices: readonly ReportedDevice[],
  given: Partial<InventoryReport> = {},
): InventoryReport {
  return {
    version: 1,
    agent_version: 'test',
    boot_id: bootId,
    sequence: 1,
    manifest: Object.fromEntries(devices.map((device) => [device.address, digestOf(device)])),
    failed_drivers: [],
    devices: [...devices],
    ...given,
  };
}
