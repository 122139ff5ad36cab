import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReportedDevice } from '#core/contracts/inventory-report.ts';
import type { StoredProvider } from '#core/domain/bind-plan.ts';
import type { AttachHandle, Device } from '#core/domain/device.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import {
  type DevicePlan,
  planDevice,
  planReport,
  planRetirement,
  type StoredHost,
} from '#core/domain/inventory-plan.ts';
import { anInstanceUuid } from '#test/support/builders.ts';
import { aDevice, aHandle, aReport, bootId, discovered } from '#test/support/reports.ts';

const now = '2026-07-01T00:00:00.000Z';

function aHost(given: Partial<StoredHost> = {}): StoredHost {
  return {
    hostname: 'cmp1',
    bootId,
    epoch: 1,
    sequence: 0,
    lastReceivedAtMs: 1000,
    wanted: {},
    isStartingOver: false,
    ...given,
  };
}

/** The rows that a plan leaves behind. */
function applied(plan: DevicePlan, before: readonly AttachHandle[] = []) {
  const dropped = new Set(plan.dropHandles.map(({ uuid }) => uuid));
  const handles = [...before, ...plan.addHandles]
    .filter(({ uuid, claim }) => !dropped.has(uuid) || claim)
    .map((handle) => (dropped.has(handle.uuid) ? { ...handle, isGone: true } : handle));
  const providers = plan.deployables.map(
    (deployable): StoredProvider => ({
      deployable,
      handles: handles.filter(({ providerUuid }) => providerUuid === deployable.providerUuid),
    }),
  );
  return { device: plan.device, providers };
}

function stored(device: ReportedDevice) {
  return applied(planDevice('cmp1', undefined, discovered(device), now));
}

function reportOf(devices: readonly ReportedDevice[], given: Parameters<typeof aReport>[1] = {}) {
  const report = aReport(devices, given);
  return {
    manifest: {
      bootId: report.boot_id,
      sequence: report.sequence,
      receivedAtMs: 2000,
      manifest: report.manifest,
      failedDrivers: report.failed_drivers,
    },
    described: report.devices.map(discovered),
  };
}

function plan(host: StoredHost, devices: readonly Device[], report: ReturnType<typeof reportOf>) {
  return planReport(host, devices, report.manifest, report.described);
}

describe('planning a report', () => {
  const first = aDevice();
  const second = aDevice({ address: '0000:3b:00.0' });

  it('puts what is new, and retires what is missing', () => {
    const planned = plan(aHost(), [stored(first).device], reportOf([second]));
    expect(planned.put.map(({ address }) => address)).toEqual(['0000:3b:00.0']);
    expect(planned.retire.map(({ address }) => address)).toEqual(['0000:0c:00.0']);
  });

  it('changes nothing for a heartbeat', () => {
    const heartbeat = reportOf([first], { devices: [] });
    expect(plan(aHost(), [stored(first).device], heartbeat)).toMatchObject({
      put: [],
      retire: [],
      wanted: {},
    });
  });

  it('keeps what a failed driver could not look at', () => {
    const report = reportOf([second], { failed_drivers: ['fake_driver'] });
    expect(plan(aHost(), [stored(first).device], report).retire).toEqual([]);
  });

  it('keeps what a failed driver had described from the next that claims it', () => {
    const others = aDevice({ driver: 'pci', provider_suffix: undefined });
    const report = reportOf([others], { failed_drivers: ['fake_driver'] });
    expect(plan(aHost(), [stored(first).device], report)).toMatchObject({
      put: [],
      retire: [],
      wanted: {},
    });
    const heartbeat = reportOf([others], { failed_drivers: ['fake_driver'], devices: [] });
    const { wanted } = plan(aHost(), [stored(first).device], heartbeat);
    const late = reportOf([others], { failed_drivers: ['fake_driver'], sequence: 0 });
    expect(plan(aHost({ wanted }), [stored(first).device], late).put).toEqual([]);
  });

  it('notes what the manifest names and nobody has described', () => {
    const report = reportOf([first], { devices: [] });
    const [[address, digest] = []] = Object.entries(report.manifest.manifest);
    expect(plan(aHost(), [], report).wanted).toEqual({ [address as string]: digest });
  });

  it('ignores an older report of the same boot', () => {
    const report = reportOf([second], { sequence: 3 });
    expect(plan(aHost({ sequence: 5 }), [stored(first).device], report)).toMatchObject({
      standing: 'late',
      put: [],
      retire: [],
    });
  });

  it('takes from an older part just what the newest manifest still wants', () => {
    const wanted = { [second.address]: discovered(second).digest };
    const report = reportOf([first, second], { sequence: 3 });
    const planned = plan(aHost({ sequence: 5, wanted }), [], report);
    expect(planned.put.map(({ address }) => address)).toEqual([second.address]);
    expect(planned.wanted).toEqual({});
  });

  it('orders reports of different boots by their arrival, whatever their numbers', () => {
    const other = '22222222-2222-4222-8222-222222222222';
    const report = reportOf([first], { boot_id: other, sequence: 1 });
    expect(plan(aHost({ sequence: 99, lastReceivedAtMs: 1999 }), [], report)).toMatchObject({
      isNewBoot: true,
      standing: 'newer',
    });
    expect(plan(aHost({ sequence: 99, lastReceivedAtMs: 2000 }), [], report).standing).toBe('late');
  });
});

describe('planning a device', () => {
  const claim = { arqUuid: 'a' as ArqUuid, instanceUuid: anInstanceUuid };

  it('adds nothing and drops nothing the second time', () => {
    const device = aDevice({ handles: 3 });
    const again = planDevice('cmp1', stored(device), discovered(device), now);
    expect(again).toMatchObject({ addHandles: [], dropHandles: [], reviveHandles: [] });
  });

  it('makes a provider for the device and one below it for each region', () => {
    const region = {
      name: 'region0',
      resource_class: 'FPGA',
      traits: [],
      attach_handles: [aHandle(1, 'PCI')],
    };
    const { device, deployables } = planDevice(
      'cmp1',
      undefined,
      discovered(aDevice({ regions: [region] })),
      now,
    );
    expect(deployables.map(({ name }) => name)).toEqual([
      'cmp1_FakeDevice',
      'cmp1_FakeDevice_region0',
    ]);
    expect(deployables[1]?.parentProviderUuid).toBe(deployables[0]?.providerUuid);
    expect(device.providers).toEqual(deployables.map(({ providerUuid }) => providerUuid));
  });

  it('keeps a region that is gone until Placement has let go of it', () => {
    const region = { name: 'region0', resource_class: 'FPGA', traits: [], attach_handles: [] };
    const before = stored(aDevice({ regions: [region] }));
    const { deployables, device } = planDevice('cmp1', before, discovered(aDevice()), now);
    expect(deployables.map(({ isGone }) => isGone)).toEqual([false, true]);
    expect(device.providers).toHaveLength(2);
  });

  it('keeps the status that an operator has set', () => {
    const before = stored(aDevice());
    const disabled = { ...before, device: { ...before.device, status: 'maintaining' as const } };
    expect(
      planDevice('cmp1', disabled, discovered(aDevice({ handles: 5 })), now).device.status,
    ).toBe('maintaining');
  });

  it('drops all handles of a device that is gone, and takes them back when it returns', () => {
    const before = stored(aDevice());
    const retired = planRetirement(before, now);
    expect(retired.dropHandles).toHaveLength(2);
    const inUse = before.providers
      .flatMap(({ handles }) => handles)
      .map((handle) => ({ ...handle, claim }));
    const left = applied(retired, inUse);
    const back = planDevice('cmp1', left, discovered(aDevice()), now);
    expect(back.reviveHandles).toHaveLength(2);
    expect(back.device.isGone).toBe(false);
  });

  it('reaches what is reported, from whatever was stored', () => {
    const count = fc.integer({ min: 0, max: 6 });
    fc.assert(
      fc.property(count, count, (before, after) => {
        const reached = applied(
          planDevice(
            'cmp1',
            stored(aDevice({ handles: before })),
            discovered(aDevice({ handles: after })),
            now,
          ),
          stored(aDevice({ handles: before })).providers.flatMap(({ handles }) => handles),
        );
        const wanted = stored(aDevice({ handles: after }));
        const uuids = ({ providers }: typeof wanted) =>
          providers.flatMap(({ handles }) => handles.map(({ uuid }) => uuid)).sort();
        expect(uuids(reached)).toEqual(uuids(wanted));
      }),
    );
  });
});
