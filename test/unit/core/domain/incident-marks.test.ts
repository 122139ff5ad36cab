import { describe, expect, it } from 'vitest';
import type { Device } from '#core/domain/device/device.ts';
import {
  addMarkRound,
  areMarksComplete,
  marksOfChange,
  mayDeviceHaveIncident,
  mayHostHaveIncident,
} from '#core/domain/history/incident-marks.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { aStoredDevice, aStoredHandle } from '#test/support/builders.ts';

const at = (hours: number) => new Date(Date.UTC(2026, 0, 1, hours)).toISOString();
const calm: HostSummary = {
  hostname: 'cmp1',
  firstSeen: at(0),
  bootId: 'boot-1',
  presence: { isConnected: true, since: at(0) },
  devices: 1,
  notOffered: 0,
};
const since = at(0);

describe('marks of incidents', () => {
  it.each<Partial<HostSummary>>([
    { presence: { isConnected: false, since } },
    { conflictSince: since },
    { clockAheadSeconds: -3600 },
    { notOffered: 1 },
    { lostProviders: { since, count: 1, isNodeLost: false } },
  ])('are set on a host with %j', (fields) => {
    expect(mayHostHaveIncident(calm)).toBe(false);
    expect(mayHostHaveIncident({ ...calm, ...fields })).toBe(true);
  });

  it.each<Partial<Device>>([
    { health: { state: 'unhealthy', reason: 'is hot', since } },
    { cardCleaning: { withheldSince: since } },
    { programs: [{ state: 'awaiting-power-cycle' }] as never },
  ])('are set on a device with %j, unless it is gone', (fields) => {
    const device = aStoredDevice(fields);
    expect(mayDeviceHaveIncident(aStoredDevice(), [])).toBe(false);
    expect(mayDeviceHaveIncident(device, [])).toBe(true);
    expect(mayDeviceHaveIncident({ ...device, isGone: true }, [])).toBe(false);
  });

  it('are set on a device with servers that lack it, also while it is gone', () => {
    const fault = { since, instanceUuid: 'instance-1', unit: '0000:0c:00.1' } as never;
    const device = aStoredDevice({ attachmentFaults: [fault] });
    expect(mayDeviceHaveIncident(device, [])).toBe(true);
    expect(mayDeviceHaveIncident({ ...device, isGone: true }, [])).toBe(true);
  });

  it('are set on an imported device while a handle of it is not clean', () => {
    const device = aStoredDevice({ adopted: [] });
    const unclean = aStoredHandle({ quarantine: 'imported' });
    expect(mayDeviceHaveIncident(device, [aStoredHandle()])).toBe(false);
    expect(mayDeviceHaveIncident(device, [aStoredHandle(), unclean])).toBe(true);
    expect(marksOfChange({ kind: 'device', after: device })).toHaveLength(1);
    expect(marksOfChange({ kind: 'device', before: device, after: device })).toEqual([]);
  });

  it('are set by the change that makes them necessary', () => {
    const away = { ...calm, conflictSince: since };
    const mark = { kind: 'host', id: 'cmp1', hostname: 'cmp1' };
    expect(marksOfChange({ kind: 'host', after: away })).toEqual([mark]);
    expect(marksOfChange({ kind: 'host', before: calm, after: away })).toEqual([mark]);
    expect(marksOfChange({ kind: 'host', before: away, after: away })).toEqual([]);
    expect(marksOfChange({ kind: 'host', before: away })).toEqual([]);
  });

  it('are complete when a round began an hour after the first, and until rounds stop', () => {
    const first = addMarkRound(undefined, at(0));
    expect(areMarksComplete(undefined, Date.parse(at(0)))).toBe(false);
    expect(areMarksComplete(first, Date.parse(at(1)))).toBe(false);
    const second = addMarkRound(first, at(1));
    expect(second).toEqual({ since: at(0), at: at(1) });
    expect(areMarksComplete(second, Date.parse(at(2)))).toBe(true);
    expect(areMarksComplete(second, Date.parse(at(8)))).toBe(false);
    // The sweep was away: changes may have been lost meanwhile.
    expect(addMarkRound(second, at(8))).toEqual({ since: at(8), at: at(8) });
  });
});
