import { describe, expect, it } from 'vitest';
import {
  acceptReport,
  receivedReport,
  reportedDevice,
} from '#core/contracts/report/inventory-report.ts';
import { aDevice, aReport, discovered } from '#test/support/reports.ts';

const health = { state: 'degraded', reason: 'runs hot', since: '2026-07-01T00:00:00.000Z' };
const facts = {
  identity: '00-15-17-ff-ff-00-00-01.0',
  numa_node: 1,
  pcie_root: '0000:00:01.0',
  firmware: '96.00.61',
  health,
  attributes: { uuid: 'GPU-1', framebuffer: '24576' },
};

describe('the facts of a device', () => {
  it.each<[string, object]>([
    ['numa_node', { numa_node: -2 }],
    ['pcie_root', { pcie_root: 'pci0000:00' }],
    ['firmware', { firmware: 7 }],
    ['a newer state of health', { health: { ...health, state: 'recovering' } }],
    ['a key that the control plane derives', { attributes: { rc: 'VGPU' } }],
    ['a number as attribute', { attributes: { cores: 8 } }],
    [
      'too many',
      { attributes: Object.fromEntries([...Array(33).keys()].map((n) => [`k${n}`, ''])) },
    ],
  ])('are left out in an unknown form, and the device is kept: %s', (_what, given) => {
    const [key = ''] = Object.keys(given);
    const device = reportedDevice.parse({ ...aDevice(), ...facts, ...given });
    expect(device).not.toHaveProperty(key, expect.anything());
    expect(device.identity).toBe(facts.identity);
  });

  it('have -1 for an unknown NUMA node, as Linux prints it, which is not shown', () => {
    const device = reportedDevice.parse({ ...aDevice(), ...facts, numa_node: -1 });
    expect(device.numa_node).toBe(-1);
    expect(discovered(device)).not.toHaveProperty('numaNode');
  });

  it('refuse a device whose identity cannot be compared', () => {
    for (const identity of ['', 'two words', 'x'.repeat(129), 'caf\u00e9']) {
      expect(reportedDevice.safeParse({ ...aDevice(), identity }).success).toBe(false);
    }
  });
});

it('a report keeps a device with fields that this cloud does not know', () => {
  const later = { ...aReport([{ ...aDevice(), later: { than: 'this' } } as never]), later: 1 };
  const { refused, devices } = acceptReport('test:cmp1', receivedReport.parse(later));
  expect([refused, devices.length]).toEqual([{}, 1]);
});

it('a device without a PCI address has the name that the kernel gives it', () => {
  const named = (address: string) => reportedDevice.safeParse(aDevice({ address })).success;
  expect(['mtty', 'fpga0', 'region-1'].map(named)).toEqual([true, true, true]);
  expect(['', '..', 'a/b', 'Mtty', '3b:00.0', 'x'.repeat(33)].map(named)).not.toContain(true);
});

it('a region has the functions of its image, each once', () => {
  const [one, two] = [1, 2].map((number) => `0f1a2b3c-0000-4000-8000-00000000000${number}`);
  const region = { name: 'r', kind: 'reconfigurable-region', resource_class: 'FPGA', traits: [] };
  const device = reportedDevice.parse({
    ...aDevice(),
    regions: [
      { ...region, attach_handles: [], 'function-uuid': one, 'function-uuids': [one, two] },
    ],
  });
  expect(discovered(device).regions[0]?.functionUuids).toEqual([one, two]);
});
