import { describe, expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { ArqUuid, BindId, InstanceUuid } from '#core/domain/ids.ts';
import { toDomainEvents } from '#core/domain/outbox/domain-events.ts';
import { aBinding, aStoredDevice, aStoredHandle } from '#test/support/builders.ts';

const startedAt = '2026-07-01T01:00:00.000Z';
const resolvedAt = '2026-07-01T01:00:02.500Z';
const started = aBinding({ state: 'BindStarted', startedAt });
const bound = aBinding({ state: 'Bound', startedAt, resolvedAt });
const failed = aBinding({ state: 'BindFailed', failureCause: 'deadline', startedAt, resolvedAt });
const provisioning = aBinding({ state: 'provisioning', startedAt });
const [one, other] = ['arq-1', 'arq-2'] as [ArqUuid, ArqUuid];

const ofInstance = (before?: InstanceBinding, after?: InstanceBinding) =>
  toDomainEvents({ kind: 'instance', ...(before && { before }), ...(after && { after }) });

describe('a bind', () => {
  it('that waits for its host has the time from its claim to its end', () => {
    expect(ofInstance(undefined, started)).toEqual([]);
    expect(ofInstance(started, bound)).toEqual([
      { kind: 'bound', binding: bound, how: 'by-host', tookMs: 2500 },
    ]);
  });

  it('that is reprovisioned after a boot has the time of the reprovision', () => {
    expect(ofInstance(bound, provisioning)).toEqual([]);
    const again = aBinding({ state: 'Bound', startedAt: resolvedAt, resolvedAt });
    expect(ofInstance(provisioning, again)).toMatchObject([{ how: 'after-boot', tookMs: 2500 }]);
  });

  it('that failed has its cause', () => {
    expect(ofInstance(started, failed)).toEqual([
      { kind: 'failed', binding: failed, cause: 'deadline' },
    ]);
    const { failureCause, ...ofOld } = failed;
    expect(ofInstance(started, ofOld)).toMatchObject([{ cause: 'unknown' }]);
  });

  it('is not announced again when only its absence or its due time is stored', () => {
    expect(ofInstance(bound, { ...bound, unusedSince: resolvedAt })).toEqual([]);
    expect(ofInstance(failed, { ...failed, unusedSince: resolvedAt })).toEqual([]);
  });
});

describe('the end of a claim', () => {
  it.each([started, bound, provisioning])('is announced for a $state binding', (binding) => {
    expect(ofInstance(binding)).toEqual([
      { kind: 'released', binding, arqUuids: binding.arqUuids },
    ]);
  });

  it('is announced for the ARQs that the instance does not keep', () => {
    const both = { ...bound, arqUuids: [one, other] };
    expect(ofInstance(both, { ...both, arqUuids: [other] })).toEqual([
      { kind: 'released', binding: both, arqUuids: [one] },
    ]);
  });

  it('is not announced when a bind starts again under another id', () => {
    expect(ofInstance(started, { ...started, bindId: 'bind-2' as BindId })).toEqual([]);
  });

  it('is not announced for a failed binding, whose handles were returned at its failure', () => {
    expect(ofInstance(failed)).toEqual([]);
  });
});

describe('a device', () => {
  const device = aStoredDevice();
  const gone = aStoredDevice({ isGone: true });
  const ofDevice = (before?: typeof device, after?: typeof device) =>
    toDomainEvents({ kind: 'device', ...(before && { before }), ...(after && { after }) });

  it('is removed when its host no longer reports it, not when its row is deleted', () => {
    expect(ofDevice(device, gone)).toEqual([{ kind: 'device-removed', device: gone }]);
    expect(ofDevice(gone)).toEqual([]);
  });

  it('is announced when a fault of it begins, changes its degree, or ends', () => {
    const since = '2026-11-01T00:00:00.000Z';
    const as = (state: 'healthy' | 'degraded' | 'unhealthy') =>
      aStoredDevice({ health: { state, reason: 'is hot', since } });
    const [well, warm, hot] = [as('healthy'), as('degraded'), as('unhealthy')];
    const news = (before?: typeof device, after?: typeof device) =>
      ofDevice(before, after).filter(({ kind }) => kind === 'device-health');
    expect(news(device, hot)).toEqual([{ kind: 'device-health', device: hot }]);
    expect(news(undefined, warm)).toEqual([{ kind: 'device-health', device: warm }]);
    expect(news(warm, hot)).toHaveLength(1);
    expect(news(hot, well)).toHaveLength(1);
    expect(news(hot, device)).toHaveLength(1);
    expect([news(hot, hot), news(device, well), news(well, device)]).toEqual([[], [], []]);
  });

  it('is not announced when its description changes', () => {
    const fault = {
      ...({ kind: 'not-attached', unit: '0000:01:00.0', since: 'then' } as const),
      instanceUuid: '7d8e9f0a-1b2c-4d3e-8f4a-5b6c7d8e9f0a' as InstanceUuid,
    };
    const lost = aStoredDevice({ attachmentFaults: [fault] });
    expect(ofDevice(device, lost)).toEqual([{ kind: 'device-not-attached', device: lost, fault }]);
    expect(ofDevice(lost, lost)).toEqual([]);
    expect(ofDevice(device, aStoredDevice({ digest: 'fedcba9876543210' }))).toEqual([]);
  });
});

it('a handle is quarantined once, for a reason', () => {
  const handle = aStoredHandle();
  const quarantined = aStoredHandle({ quarantine: 'not blanked' });
  const change = { kind: 'handle', before: handle, after: quarantined } as const;
  expect(toDomainEvents(change)).toEqual([
    { kind: 'quarantined', handle: quarantined, reason: 'not blanked' },
  ]);
  expect(toDomainEvents({ kind: 'handle', before: quarantined, after: quarantined })).toEqual([]);
  expect(toDomainEvents({ kind: 'handle', before: quarantined, after: handle })).toEqual([]);
});
