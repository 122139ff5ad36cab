import { describe, expect, it } from 'vitest';
import {
  type Acknowledged,
  acknowledge,
  composeReport,
  nothingAcknowledged,
} from '#agent/report/compose-report.ts';
import type { Found } from '#agent/report/discover.ts';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import {
  type InventoryReport,
  type ReportedDevice,
  reportBytesMax,
} from '#core/contracts/report/inventory-report.ts';
import { aReportedDevice } from '#test/support/hosts/agent.ts';

const seconds = 1000;
const gpu = aReportedDevice({ address: '0000:3b:00.0' });
const nic = aReportedDevice({ address: '0000:17:00.0' });
const gpuChanged = { ...gpu, model: 'other' };

function found(devices: readonly ReportedDevice[], failedDrivers: string[] = []): Found {
  return {
    devices: devices.map((device) => ({ device, digest: computeDigest(device) })),
    failedDrivers,
    notOffered: [],
    novaVersions: [],
  };
}

/** The acknowledged state after a report of everything at time 0. */
function reported(first: Found): Acknowledged {
  return acknowledge(nothingAcknowledged, composeReport(first, nothingAcknowledged, 0), 0, 0);
}

function addressesOf(parts: readonly (readonly ReportedDevice[])[]): string[][] {
  return parts.map((devices) => devices.map(({ address }) => address));
}

describe('a report', () => {
  it('has everything at first', () => {
    const plan = composeReport(found([nic, gpu]), nothingAcknowledged, 0);
    expect(plan.reason).toBe('everything');
    expect(addressesOf(plan.parts)).toEqual([[nic.address, gpu.address]]);
  });

  it('is only a manifest when a host has no devices', () => {
    expect(composeReport(found([]), nothingAcknowledged, 0).parts).toEqual([[]]);
  });

  it('is only the manifest as a heartbeat', () => {
    const plan = composeReport(found([gpu]), reported(found([gpu])), 1200 * seconds);
    expect(plan).toMatchObject({ reason: 'heartbeat', parts: [[]] });
    expect(plan.manifest).toEqual({ [gpu.address]: computeDigest(gpu) });
  });

  it('describes changed and new devices only', () => {
    const known = reported(found([gpu]));
    const plan = composeReport(found([nic, gpuChanged]), known, 1);
    expect(addressesOf(plan.parts)).toEqual([[nic.address, gpu.address]]);
    expect(addressesOf(composeReport(found([nic, gpu]), known, 1).parts)).toEqual([[nic.address]]);
  });

  it('is a manifest without the device when one is gone', () => {
    const plan = composeReport(found([nic]), reported(found([nic, gpu])), 1);
    expect(plan).toMatchObject({ reason: 'change', parts: [[]] });
    expect(Object.keys(plan.manifest)).toEqual([nic.address]);
  });

  it('names a driver when it begins to fail and when it works again', () => {
    const working = reported(found([gpu]));
    const failing = composeReport(found([gpu], ['pci']), working, 1);
    expect(failing).toMatchObject({ reason: 'change', failedDrivers: ['pci'] });
    const known = acknowledge(working, failing, 0, 1);
    expect(composeReport(found([gpu], ['pci']), known, 2).reason).toBe('nothing');
    expect(composeReport(found([gpu]), known, 2).reason).toBe('change');
  });

  it('describes a device again if only an older state of it was acknowledged', () => {
    const known = reported(found([gpu]));
    const unacknowledged = composeReport(found([gpuChanged]), known, 1);
    expect(composeReport(found([gpuChanged]), known, 2)).toEqual(unacknowledged);
  });
});

describe('large reports', () => {
  const handles = Array.from({ length: 200 }, (_, index) => ({
    type: 'PCI' as const,
    info: { domain: '0000', bus: '3b', device: '00', function: String(index) },
  }));
  const large = Array.from({ length: 40 }, (_, index) =>
    aReportedDevice({
      address: `0000:${index.toString(16).padStart(2, '0')}:00.0`,
      offers: { resource_class: 'CUSTOM_PCI', traits: [], attach_handles: handles },
    }),
  );

  function messageOf(
    manifest: Readonly<Record<string, string>>,
    devices: readonly ReportedDevice[],
  ) {
    const report: InventoryReport = {
      version: 1,
      agent_version: '0.2.0',
      boot_id: '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7',
      sequence: 17_952_267_837,
      manifest,
      failed_drivers: [],
      devices: [...devices],
    };
    return JSON.stringify(report);
  }

  it('are split, and each part fits in a message', () => {
    const plan = composeReport(found(large), nothingAcknowledged, 0);
    expect(plan.parts.length).toBeGreaterThan(1);
    expect(plan.parts.flat()).toEqual(large);
    for (const devices of plan.parts) {
      const bytes = Buffer.byteLength(messageOf(plan.manifest, devices));
      expect(bytes).toBeLessThanOrEqual(reportBytesMax - 512);
    }
  });

  it('count as full only when the last part is acknowledged', () => {
    const plan = composeReport(found(large), nothingAcknowledged, 0);
    const first = acknowledge(nothingAcknowledged, plan, 0, 0);
    expect(composeReport(found(large), first, 0).reason).toBe('everything');
    let known = nothingAcknowledged;
    for (const part of plan.parts.keys()) known = acknowledge(known, plan, part, 0);
    expect(composeReport(found(large), known, 1).reason).toBe('nothing');
  });

  const tooLarge = {
    resource_class: 'CUSTOM_PCI',
    traits: [],
    attach_handles: Array.from({ length: 10 }, () => handles).flat(),
  };

  it('leave out a device that no message can hold, and name its driver as failed', () => {
    const other = { ...gpu, driver: 'other', offers: tooLarge };
    const plan = composeReport(found([nic, other]), nothingAcknowledged, 0);
    expect(plan.oversized).toEqual([gpu.address]);
    expect(plan.failedDrivers).toEqual(['other']);
    expect(Object.keys(plan.manifest)).toEqual([nic.address]);
    expect(addressesOf(plan.parts)).toEqual([[nic.address]]);
  });

  it('are not sent at all if the manifest does not fit, and are complete afterwards', () => {
    const many = Array.from({ length: 4000 }, (_, index) =>
      aReportedDevice({ address: `${index.toString(16).padStart(4, '0')}:00:00.0` }),
    );
    const known = reported(found([nic]));
    const plan = composeReport(found(many), known, 3600 * seconds);
    expect(plan).toMatchObject({ reason: 'nothing', parts: [], isTooLarge: true });
    const fewer = composeReport(found(many.slice(0, 3000)), known, 3601 * seconds);
    expect(fewer).toMatchObject({ reason: 'everything', isTooLarge: false });
    for (const devices of fewer.parts) {
      const bytes = Buffer.byteLength(messageOf(fewer.manifest, devices));
      expect(bytes).toBeLessThanOrEqual(reportBytesMax - 512);
    }
  });
});
