import { describe, expect, it } from 'vitest';
import { measureUsage } from '#core/domain/capacity/usage-metrics.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import type { DeviceUuid } from '#core/domain/ids.ts';
import { toHost } from '#core/store/rows/host-rows.ts';
import {
  aDeployable,
  anArq,
  anInstanceUuid,
  aStoredDevice,
  aStoredHandle,
} from '#test/support/builders.ts';

const now = Date.parse('2026-07-01T12:00:00Z');
const device = aStoredDevice();
const host = {
  ...toHost('cmp1'),
  epoch: 1,
  sequence: 1,
  presence: { isConnected: true, at: '2026-07-01T01:00:00Z' },
};
const claim = { arqUuid: anArq().uuid, instanceUuid: anInstanceUuid };
const release = 'release-1' as AttachHandle['release'] & string;

const attachTypes = ['TEST_PCI'] as const;

function handlesOf(
  handles: readonly Partial<AttachHandle>[],
  of: Device = device,
  deployable = aDeployable(),
) {
  const stored = handles.map((given, index) => aStoredHandle({ index, ...given }));
  const providers = [{ deployable, handles: stored }];
  return measureUsage(of, providers, { host, devices: [of] }, attachTypes, now).handles;
}

const none = { free: 0, withheld: 0, claimed: 0, releasing: 0, quarantined: 0 };

describe('a handle is counted', () => {
  it.each([
    ['free', {}],
    ['claimed', { claim }],
    // The claim waits behind the release.
    ['claimed', { claim, release }],
    ['claimed', { claim, isGone: true }],
    ['releasing', { release }],
    ['quarantined', { release, quarantine: 'not blanked' }],
    ['withheld', { restoredAt: '2026-07-01T11:00:00.000Z' }],
    ['claimed', { claim, restoredAt: '2026-07-01T11:00:00.000Z' }],
  ] as const)('as %s: %j', (use, given) => {
    expect(handlesOf([given])).toEqual({ ...none, [use]: 1 });
  });

  it('not at all when it is gone and unclaimed', () => {
    expect(handlesOf([{ isGone: true }])).toEqual(none);
  });

  it('as withheld when its device is in maintenance', () => {
    const maintained = aStoredDevice({ status: 'maintaining' });
    expect(handlesOf([{}, { claim }], maintained)).toEqual({ ...none, withheld: 1, claimed: 1 });
  });
});

describe('handles that their host cannot attach are counted', () => {
  const deployable = aDeployable({ hostAttachTypes: ['PCI'] });

  it('as withheld, unless an instance has them', () => {
    const counted = handlesOf([{}, { claim }], device, deployable);
    expect(counted).toEqual({ ...none, withheld: 1, claimed: 1 });
  });
});

describe('a host is counted', () => {
  const hostWith = (
    given: Partial<StoredHost>,
    of: Device = device,
    devices: Device[] = [device],
  ) => measureUsage(of, [], { host: { ...host, ...given }, devices }, attachTypes, now).host;

  const reporting = { lastReportAt: '2026-07-01T11:50:00Z' };

  it('as present, absent, or unknown without any presence event', () => {
    const left = { isConnected: false, at: '2026-07-01T11:00:00Z' };
    expect(hostWith(reporting)).toBe('present');
    expect(hostWith({ presence: left })).toBe('absent');
    // It reports, so it is present, whatever the last presence event says.
    expect(hostWith({ presence: left, lastReportAt: '2026-07-01T11:59:30Z' })).toBe('present');
    const { presence, ...unheard } = host;
    const inventory = { host: unheard, devices: [device] };
    expect(measureUsage(device, [], inventory, attachTypes, now).host).toBe('unknown');
  });

  it('once, however many devices it has', () => {
    const other = aStoredDevice({ uuid: 'ffffffff-0000-4000-8000-000000000000' as DeviceUuid });
    expect(hostWith(reporting, device, [other, device])).toBe('present');
    expect(hostWith({}, other, [other, device])).toBeUndefined();
  });
});
