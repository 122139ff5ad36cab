import { describe, expect, it } from 'vitest';
import { deriveTraits, vendorName } from '#core/domain/placement/traits.ts';
import { aDevice, discovered } from '#test/support/reports.ts';

const region = {
  name: 'region0',
  kind: 'reconfigurable-region' as const,
  'region-type-uuid': '9926ab6d-6c92-5a68-aabc-a7d84c545738',
  'function-uuid': 'd8424dc4-a4a3-c413-f89e-433683f9040b',
  resource_class: 'FPGA',
  traits: [],
  attach_handles: [],
};

describe('traits of a device', () => {
  it('name the owner, the vendor and the type', () => {
    expect(deriveTraits(discovered(aDevice()))).toEqual([
      'CUSTOM_FAKE_DEVICE',
      'CUSTOM_FPGA_ABCD_ABCD',
      'OWNER_CYBORG',
    ]);
  });

  it.each([
    [1, ['CUSTOM_ACCEL_NUMA_1']],
    [-1, []],
    [undefined, []],
  ])('name NUMA node %s, if it is known', (node, expected) => {
    const device = discovered(aDevice(node === undefined ? {} : { numa_node: node }));
    const ofNodes = deriveTraits(device).filter((trait) => trait.startsWith('CUSTOM_ACCEL_'));
    expect(ofNodes).toEqual(expected);
  });

  it('name regions and functions as the specification and as deployed Cyborg do', () => {
    const device = discovered(aDevice({ vendor: '0x8086', product: '0x09c4', regions: [region] }));
    expect(deriveTraits(device, device.regions[0])).toEqual([
      'CUSTOM_FAKE_DEVICE',
      'CUSTOM_FPGA_FUNCTION_ID_INTEL_D8424DC4A4A3C413F89E433683F9040B',
      'CUSTOM_FPGA_INTEL_09C4',
      'CUSTOM_FPGA_INTEL_FUNCTION_D8424DC4_A4A3_C413_F89E_433683F9040B',
      'CUSTOM_FPGA_INTEL_REGION_9926AB6D_6C92_5A68_AABC_A7D84C545738',
      'CUSTOM_FPGA_REGION_INTEL_9926AB6D6C925A68AABCA7D84C545738',
      'OWNER_CYBORG',
    ]);
  });

  it.each([
    ['0x10de', 'NVIDIA'],
    ['10DE', 'NVIDIA'],
    ['0x1234', '1234'],
  ])('name vendor %s %s', (vendor, name) => {
    expect(vendorName(vendor)).toBe(name);
  });
});
