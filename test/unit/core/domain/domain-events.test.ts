import { describe, expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq.ts';
import { domainEventsOf } from '#core/domain/domain-events.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { aBinding, aStoredDevice, aStoredHandle } from '#test/support/builders.ts';

const startedAt = '2026-07-01T01:00:00.000Z';
const resolvedAt = '2026-07-01T01:00:02.500Z';
const started = aBinding({ state: 'BindStarted', startedAt });
const bound = aBinding({ state: 'Bound', startedAt, resolvedAt });
const failed = aBinding({ state: 'BindFailed', failureCause: 'deadline', startedAt, resolvedAt });
const provisioning = aBinding({ state: 'provisioning', startedAt });
const [one, other] = ['arq-1', 'arq-2'] as [ArqUuid, ArqUuid];

const ofInstance = (before?: InstanceBinding, after?: InstanceBinding) =>
  domainEventsOf({ kind: 'instance', ...(before && { before }), ...(after && { after }) });

describe('a bind', () => {
  it('that needs nothing from the host is bound with its claim', () => {
    const atOnce = aBinding({ state: 'Bound', startedAt });
    expect(ofInstance(undefined, atOnce)).toEqual([
      { kind: 'bound', binding: atOnce, how: 'at-once', tookMs: 0 },
    ]);
  });

  it('that waits for its host took as long as from the claim to its end', () => {
    expect(ofInstance(undefined, started)).toEqual([]);
    expect(ofInstance(started, bound)).toEqual([
      { kind: 'bound', binding: bound, how: 'by-host', tookMs: 2500 },
    ]);
  });

  it('that is made again after a boot took as long as that', () => {
    expect(ofInstance(bound, provisioning)).toEqual([]);
    const again = aBinding({ state: 'Bound', startedAt: resolvedAt, resolvedAt });
    expect(ofInstance(provisioning, again)).toMatchObject([{ how: 'after-boot', tookMs: 2500 }]);
  });

  it('that failed says why', () => {
    expect(ofInstance(started, failed)).toEqual([
      { kind: 'failed', binding: failed, cause: 'deadline' },
    ]);
    const { failureCause, ...ofOld } = failed;
    expect(ofInstance(started, ofOld)).toMatchObject([{ cause: 'unknown' }]);
  });

  it('that is only noted, as absent or due later, is no news', () => {
    expect(ofInstance(bound, { ...bound, unusedSince: resolvedAt })).toEqual([]);
    expect(ofInstance(failed, { ...failed, unusedSince: resolvedAt })).toEqual([]);
  });
});

describe('the end of a claim', () => {
  it.each([started, bound, provisioning])('is told of what was $state', (binding) => {
    expect(ofInstance(binding)).toEqual([
      { kind: 'released', binding, arqUuids: binding.arqUuids },
    ]);
  });

  it('is told of those ARQs that the instance does not keep', () => {
    const both = { ...bound, arqUuids: [one, other] };
    expect(ofInstance(both, { ...both, arqUuids: [other] })).toEqual([
      { kind: 'released', binding: both, arqUuids: [one] },
    ]);
  });

  it('is no news of what had failed: that gave back its handles when it did', () => {
    expect(ofInstance(failed)).toEqual([]);
  });
});

describe('a device', () => {
  const device = aStoredDevice();
  const gone = aStoredDevice({ isGone: true });
  const ofDevice = (before?: typeof device, after?: typeof device) =>
    domainEventsOf({ kind: 'device', ...(before && { before }), ...(after && { after }) });

  it('is added when its host comes to have it, and when it is back', () => {
    const added = [{ kind: 'device-added', device }];
    expect(ofDevice(undefined, device)).toEqual(added);
    expect(ofDevice(gone, device)).toEqual(added);
  });

  it('is removed when its host no longer reports it, not when its row goes', () => {
    expect(ofDevice(device, gone)).toEqual([{ kind: 'device-removed', device: gone }]);
    expect(ofDevice(gone)).toEqual([]);
  });

  it('that is described anew is no news', () => {
    expect(ofDevice(device, aStoredDevice({ digest: 'fedcba9876543210' }))).toEqual([]);
  });
});

it('a handle goes into quarantine once, for a reason', () => {
  const handle = aStoredHandle();
  const quarantined = aStoredHandle({ quarantine: 'not blanked' });
  const change = { kind: 'handle', before: handle, after: quarantined } as const;
  expect(domainEventsOf(change)).toEqual([
    { kind: 'quarantined', handle: quarantined, reason: 'not blanked' },
  ]);
  expect(domainEventsOf({ kind: 'handle', before: quarantined, after: quarantined })).toEqual([]);
  expect(domainEventsOf({ kind: 'handle', before: quarantined, after: handle })).toEqual([]);
});
