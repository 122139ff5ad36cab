import { describe, expect, it } from 'vitest';
import { healthIncident } from '#core/domain/history/device-incidents.ts';
import type { DeviceUuid } from '#core/domain/ids.ts';
import { aStoredDevice } from '#test/support/builders.ts';

const since = '2026-07-01T00:00:00.000Z';
const fault = { state: 'unhealthy' as const, reason: 'has had Xid 79', since };

describe('the incident of an unhealthy device', () => {
  it('has the next step that its host reports', () => {
    const health = { ...fault, nextStep: 'Check the slot.' };
    expect(healthIncident(aStoredDevice({ health }))?.nextStep).toBe('Check the slot.');
  });

  it('has a general next step without one', () => {
    expect(healthIncident(aStoredDevice({ health: fault }))?.nextStep).toContain('Repair');
  });

  it('is one for the devices of a host that are ill for one reason', () => {
    const at = (slot: number, reason: string) => {
      const uuid = `0000000${slot}-0000-4000-8000-000000000000` as DeviceUuid;
      return aStoredDevice({ uuid, address: `0000:0${slot}:00.0`, health: { ...fault, reason } });
    };
    const [one, two, three] = [1, 2, 3].map((slot) => at(slot, 'is inaccessible'));
    const hot = at(4, 'is hot');
    const gone = { ...at(5, 'is inaccessible'), isGone: true };
    const all = [three, hot, one, two, gone].filter((each) => each !== undefined);
    const incidents = all.map((each) => healthIncident(each, all)?.reason);
    expect(incidents).toEqual([
      undefined,
      'The device at 0000:04:00.0 is hot.',
      expect.stringMatching(
        /^Each of 3 devices is inaccessible: those at 0000:01:00\.0, .*0000:03:/,
      ),
      undefined,
      undefined,
    ]);
    const six = [1, 2, 3, 4, 5, 6].map((slot) => at(slot, 'is hot'));
    expect(healthIncident(at(1, 'is hot'), six)?.reason).toContain('0000:05:00.0, and 1 more.');
  });
});
