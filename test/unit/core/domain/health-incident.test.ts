import { describe, expect, it } from 'vitest';
import { healthIncident } from '#core/domain/history/device-incidents.ts';
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
});
