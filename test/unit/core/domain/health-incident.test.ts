import { describe, expect, it } from 'vitest';
import { healthIncident } from '#core/domain/history/device-incidents.ts';
import { mayDeviceHaveIncident } from '#core/domain/history/incident-marks.ts';
import type { DeviceUuid } from '#core/domain/ids.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import { withholdRecovered } from '#core/domain/report/withhold-recovered.ts';
import { aStoredDevice } from '#test/support/builders.ts';

const since = '2026-07-01T00:00:00.000Z';
const fault = { state: 'unhealthy' as const, reason: 'has had Xid 79', since };

describe('the incident of an unhealthy device', () => {
  it('has the next step that its host reports', () => {
    const health = { ...fault, nextStep: 'Check the slot.' };
    expect(healthIncident(aStoredDevice({ health }))?.nextStep).toBe('Check the slot.');
  });

  it('has the commands of a reboot that ends its fault', () => {
    const health = { ...fault, nextStep: 'Check the slot.', needsReboot: true as const };
    const device = aStoredDevice({ health });
    const { hostname } = device;
    const step = healthIncident(device)?.nextStep;
    expect(step).toMatch(/^Check the slot\. To reboot the host: /);
    for (const command of ['drain HOST --reason reboot', 'resume HOST']) {
      expect(step).toContain(`cyborg-ops hosts ${command.replace('HOST', hostname)}`);
    }
  });

  it('has no step of the fault while the device is watched', () => {
    const health = { ...fault, nextStep: 'Check the slot.', needsReboot: true as const };
    const before = aStoredDevice({ health, digest: 'a' });
    const plan = { put: [aStoredDevice({ digest: 'b' })] } as unknown as ReportPlan;
    const [after] = withholdRecovered(plan, [before], Date.parse(since)).put;
    expect(after?.health).toEqual({
      state: 'unhealthy',
      since,
      healthySince: since,
      reason: expect.stringContaining('has been without a fault since'),
    });
  });

  it('has a general next step without one', () => {
    expect(healthIncident(aStoredDevice({ health: fault }))?.nextStep).toContain('Repair');
  });

  it('is of a device that is gone since its program has failed, until its status is set', () => {
    const id = 'p1';
    const program = {
      id,
      component: 'bios',
      image: 'i1',
      version: '2.0',
      state: 'failed' as const,
      since,
      by: 'op',
      at: since,
      reason: 'The host finds no device.',
    };
    const statusChange = { status: 'maintaining' as const, by: 'op', at: since, program: id };
    const gone = { ...aStoredDevice({ programs: [program], statusChange }), isGone: true };
    expect(healthIncident(gone)).toMatchObject({
      kind: 'unhealthy-device',
      since,
      reason: expect.stringMatching(/is gone from its host, .*bios failed: The host .* device\.$/),
      nextStep: expect.stringContaining(`devices enable ${gone.uuid}`),
    });
    const { program: _, ...byOperator } = statusChange;
    expect(healthIncident({ ...gone, statusChange: byOperator })).toBeUndefined();
    expect(healthIncident({ ...gone, programs: [{ ...program, state: 'done' }] })).toBeUndefined();
    expect(mayDeviceHaveIncident(gone, [])).toBe(true);
    expect(mayDeviceHaveIncident({ ...gone, statusChange: byOperator }, [])).toBe(false);
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
