// One simulated FPGA, to try the system without hardware. As with Cyborg's fake driver,
// hypervisors ignore TEST_PCI handles, so instances start without an accelerator.

import type { Driver } from '#agent/drivers/contract/driver.ts';
import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

const address = '0000:0c:00.0';
const handleCount = 16;

export function createFakeDriver(): Driver {
  return { name: 'fake', discover: async () => ({ devices: { [address]: fakeDevice() } }) };
}

function fakeDevice(): ReportedDevice {
  return {
    address,
    driver: 'fake',
    type: 'FPGA',
    vendor: '0xABCD',
    product: '0xabcd',
    model: 'miss model info',
    // Spaced as Python prints it, because clients compare the text.
    std_board_info: '{"device_id": "0xabcd", "class": "Fake class"}',
    vendor_board_info: 'fake_vendor_info',
    provider_suffix: 'FakeDevice',
    offers: {
      resource_class: 'FPGA',
      traits: ['CUSTOM_FAKE_DEVICE'],
      attach_handles: Array.from({ length: handleCount }, (_, index) => testHandle(index + 1)),
    },
    regions: [],
  };
}

/** Cyborg numbers them from 1, eight functions per device, in decimals. */
function testHandle(number: number): ReportedHandle {
  return {
    type: 'TEST_PCI',
    info: {
      domain: '0000',
      bus: '0c',
      device: String(Math.floor(number / 8)),
      function: String(number % 8),
    },
  };
}
