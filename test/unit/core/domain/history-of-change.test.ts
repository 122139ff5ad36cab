import { describe, expect, it } from 'vitest';
import type { ComponentNote, Device } from '#core/domain/device/device.ts';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { partitionsFor } from '#core/domain/history/history.ts';
import { deriveHistory, needsPlace } from '#core/domain/history/history-of-change.ts';
import type { ArqUuid, DeviceProfileUuid, InstanceUuid, ReleaseId } from '#core/domain/ids.ts';
import type { Change } from '#core/domain/outbox/outbox.ts';
import { historyKinds } from '#core/shapes/vocabulary/history-kinds.ts';
import {
  aBinding,
  aDeployable,
  anArq,
  aStoredDevice,
  aStoredHandle,
} from '#test/support/builders.ts';

const metadata = { id: 'stream-1', at: Date.parse('2026-07-01T01:02:03.000Z') };
const user = { at: '2026-07-01T01:02:04.500Z', by: 'user:1', requestId: 'req-1' };
const facts = {
  projectId: 'project-1',
  at: user.at,
  profileName: 'fpga',
  hostname: 'cmp1',
  deviceUuid: aStoredDevice().uuid,
  resourceClass: 'FPGA',
};
const free = aStoredHandle();
const claimed = aStoredHandle({
  claim: { arqUuid: 'arq-1' as ArqUuid, instanceUuid: 'instance-1' as InstanceUuid, facts },
  lastChange: user,
});
const releasing = aStoredHandle({ release: 'release-1' as ReleaseId, lastChange: user });
const cleaned = aStoredHandle({
  lastCleaning: { at: '2026-07-01T01:02:09.000Z', evidence: { reset: 'function' } },
  lastChange: { at: '2026-07-01T01:02:09.000Z', by: 'agent' },
});

const of = (change: Change) => deriveHistory(change, metadata);
const kindsOf = (change: Change) => of(change).map(({ kind }) => kind);

describe('the history of an attach handle', () => {
  it('has since when a handle was in use that a restore deletes', () => {
    const removed = { hostname: 'cmp1', resourceClass: 'FPGA', at: '2026-07-01T01:02:03.000Z' };
    expect(of({ kind: 'handle', before: claimed })).toMatchObject([
      { kind: 'handle.released', since: user.at, projectId: 'project-1', ...removed },
      { kind: 'handle.removed', ...removed },
    ]);
  });

  it('has the time of the restore that puts a claimed handle back as it was', () => {
    const lastChange = { at: '2026-01-01T00:00:00.000Z', by: 'user:2' };
    const after = aStoredHandle({ restoredAt: '2026-07-01T00:00:00.000Z', lastChange });
    const [released] = of({ kind: 'handle', before: claimed, after });
    expect(released).toMatchObject({ kind: 'handle.released', at: '2026-07-01T01:02:03.000Z' });
    expect(released?.by).toBeUndefined();
  });

  it('has the evidence of a cleaning', () => {
    expect(of({ kind: 'handle', before: releasing, after: cleaned })).toMatchObject([
      { kind: 'handle.cleaned', by: 'agent', to: 'free', evidence: { reset: 'function' } },
    ]);
  });

  it.each([
    ['new', undefined, free, ['handle.added']],
    ['deleted', free, undefined, ['handle.removed']],
    ['gone', free, aStoredHandle({ isGone: true }), ['handle.gone']],
    ['back', aStoredHandle({ isGone: true }), free, ['handle.returned']],
    ['quarantined', releasing, { ...releasing, quarantine: 'no' }, ['handle.quarantined']],
    ['restored', aStoredHandle({ restoredAt: user.at }), free, ['handle.reinstated']],
    ['changed otherwise', free, aStoredHandle({ cleanSeconds: 5 }), []],
  ] as const)('has what happened to a handle that is %s', (_what, before, after, kinds) => {
    const change = { kind: 'handle', ...(before && { before }), ...(after && { after }) } as const;
    expect(kindsOf(change)).toEqual(kinds);
  });

  it('takes the place of a handle that no one holds from its deployable', () => {
    const change = { kind: 'handle', before: releasing, after: cleaned } as const;
    expect(needsPlace(change)).toBe(true);
    expect(needsPlace({ kind: 'handle', before: free, after: claimed })).toBe(false);
    const place = { hostname: 'cmp1', deviceUuid: facts.deviceUuid };
    expect(deriveHistory(change, metadata, place)).toMatchObject([place]);
  });
});

describe('the history of an instance', () => {
  const started = aBinding({ state: 'BindStarted' });

  it.each([
    ['Bound', 'bind.bound'],
    ['BindFailed', 'bind.failed'],
    ['provisioning', 'bind.reprovisioning'],
  ] as const)('has a bind that is %s, and all of its ARQs', (state, kind) => {
    const after = aBinding({ state, failure: 'no power', failureCause: 'deadline' });
    expect(of({ kind: 'instance', before: started, after })).toMatchObject([
      { kind, from: 'BindStarted', to: state, arqUuids: after.arqUuids },
    ]);
  });

  it('leaves the beginning and the end of a bind to the claims', () => {
    expect(of({ kind: 'instance', after: started })).toEqual([]);
    expect(of({ kind: 'instance', before: started })).toEqual([]);
  });
});

describe('the history of an ARQ', () => {
  it('has its deletion only if it had no device', () => {
    const binding = { ...aBinding(), providerUuid: aDeployable().providerUuid };
    expect(kindsOf({ kind: 'arq', before: anArq() })).toEqual(['arq.deleted']);
    expect(kindsOf({ kind: 'arq', before: anArq({ state: 'Bound', binding }) })).toEqual([]);
  });
});

describe('the history of a device', () => {
  const device = aStoredDevice();
  const attachmentFaults = [
    {
      ...({ kind: 'not-attached', unit: '0000:01:00.0', since: user.at } as const),
      instanceUuid: '7d8e9f0a-1b2c-4d3e-8f4a-5b6c7d8e9f0a' as InstanceUuid,
    },
  ] as const;
  const health = { state: 'unhealthy', reason: 'fell off the bus', since: user.at } as const;

  it.each([
    ['new', undefined, device, ['device.added']],
    ['deleted', device, undefined, ['device.removed']],
    ['gone', device, aStoredDevice({ isGone: true }), ['device.gone']],
    ['unhealthy', device, aStoredDevice({ health }), ['device.unhealthy']],
    ['healthy again', aStoredDevice({ health }), device, ['device.healthy']],
    ['not attached', device, aStoredDevice({ attachmentFaults }), ['device.not-attached']],
    ['attached again', aStoredDevice({ attachmentFaults }), device, ['device.attached']],
    ['in conflict', device, aStoredDevice({ conflictSince: user.at }), ['device.conflict']],
    ['updated', device, aStoredDevice({ firmware: '2.0' }), ['device.changed']],
    ['reported again', device, aStoredDevice({ digest: 'other' }), []],
  ] as const)('has that it is %s', (_what, before, after, kinds) => {
    const change = { kind: 'device', ...(before && { before }), ...(after && { after }) } as const;
    expect(kindsOf(change)).toEqual(kinds);
  });

  it('has which operator disabled it, and why', () => {
    const statusChange = { status: 'maintaining', by: '7', at: user.at, reason: 'fan' } as const;
    const after = aStoredDevice({ status: 'maintaining', statusChange });
    expect(of({ kind: 'device', before: device, after })).toMatchObject([
      { kind: 'device.status', from: 'enabled', to: 'maintaining', by: 'user:7', reason: 'fan' },
    ]);
  });

  it('has both of two changes of its status at one time', () => {
    const change = { status: 'maintaining', by: '7', at: user.at } as const;
    const before = aStoredDevice({ status: 'maintaining', statusChange: change });
    const after = aStoredDevice({ statusChange: { ...change, status: 'enabled' } });
    expect(kindsOf({ kind: 'device', before: device, after: before })).toEqual(['device.status']);
    expect(kindsOf({ kind: 'device', before, after })).toEqual(['device.status']);
  });

  it('has that its maintenance ended, and that the sweep ended it', () => {
    const statusChange = { status: 'enabled', by: 'sweep', at: user.at } as const;
    const before = aStoredDevice({ status: 'maintaining' });
    const after = aStoredDevice({ status: 'enabled', statusChange });
    expect(of({ kind: 'device', before, after })).toMatchObject([
      { kind: 'device.status', from: 'maintaining', to: 'enabled', by: 'sweep' },
    ]);
  });

  it('has which holds match it and which no longer do, one record of each', () => {
    const hold = (id: string, reason: string) => ({ id, reason, by: '7', at: user.at });
    const [loud, old] = [hold('1', 'loud'), hold('2', 'old')];
    const one = aStoredDevice({ holds: [loud] });
    const both = aStoredDevice({ holds: [loud, old] });
    const begin = { kind: 'device.on-hold', by: 'user:7' };
    expect(of({ kind: 'device', before: device, after: both })).toMatchObject([
      { ...begin, reason: 'loud; old' },
    ]);
    expect(kindsOf({ kind: 'device', after: one })).toEqual(['device.added', 'device.on-hold']);
    const other = aStoredDevice({ holds: [old] });
    expect(of({ kind: 'device', before: one, after: other })).toMatchObject([
      { ...begin, reason: 'old' },
      { kind: 'device.hold-ended', since: user.at, reason: 'loud' },
    ]);
    const again = aStoredDevice({ holds: [{ ...loud, at: '2026-12-01T00:00:00.000Z' }, old] });
    expect(kindsOf({ kind: 'device', before: both, after: again })).toEqual(['device.on-hold']);
    expect(kindsOf({ kind: 'device', before: both, after: both })).toEqual([]);
  });

  it('has which operator released its handles by force', () => {
    const forced = { by: '7', at: user.at, isCleaned: true, reason: 'replaced' };
    expect(of({ kind: 'device', before: device, after: aStoredDevice({ forced }) })).toMatchObject([
      { kind: 'device.forced', by: 'user:7', to: 'free', reason: 'replaced' },
    ]);
  });

  it('has each step of the programs of its components, and who took it', () => {
    const [at, since] = [user.at, '2026-11-24T10:00:00.000Z'];
    const note = { id: 'p1', component: 'bmc', version: '2.0', image: 'i1', by: '7', at } as const;
    const having = (given: Partial<ComponentNote>) =>
      aStoredDevice({ programs: [{ ...note, state: 'started', ...given }] });
    const record = (before: Device, after: Device) =>
      of({ kind: 'device', before, after }).map(({ kind, ...rest }) => [
        kind,
        ...[rest.from, rest.to, rest.by, rest.at, rest.reason],
      ]);
    const kind = 'device.programmed';
    const what = 'bmc 2.0, image i1';
    const draining = having({ state: 'draining' });
    const started = having({ since });
    const awaiting = having({ state: 'awaiting-power-cycle', since });
    const failed = having({ state: 'failed', since, reason: 'EIO' });
    expect([
      record(device, draining),
      record(draining, started),
      record(started, awaiting),
      record(awaiting, having({ state: 'done', since, evidence: { version: '2.0' } })),
      record(started, failed),
      record(failed, having({ id: 'p2' })),
      record(started, started),
    ]).toEqual([
      [[kind, undefined, 'draining', 'user:7', at, what]],
      [[kind, 'draining', 'started', 'sweep', since, what]],
      [[kind, 'started', 'awaiting-power-cycle', 'agent', since, what]],
      [[kind, 'awaiting-power-cycle', 'done', 'agent', since, what]],
      [[kind, 'started', 'failed', undefined, since, `${what}: EIO`]],
      [[kind, undefined, 'started', 'user:7', at, what]],
      [],
    ]);
  });

  it('has the programs of its regions', () => {
    const program = { image: 'image-1', by: '7', at: user.at, state: 'started' } as const;
    const after = aDeployable({ program });
    expect(of({ kind: 'deployable', before: aDeployable(), after })).toMatchObject([
      { kind: 'region.programmed', to: 'started', by: 'user:7', reason: 'image image-1' },
    ]);
    const done = aDeployable({ program: { ...program, state: 'done' } });
    expect(of({ kind: 'deployable', before: after, after: done })).toMatchObject([
      { kind: 'region.programmed', from: 'started', to: 'done', by: 'agent' },
    ]);
  });
});

it('has who deleted device profiles', () => {
  const after = { ...user, names: ['fpga', 'gpu'] };
  const deleted = of({ kind: 'profile-deletion', after });
  expect(deleted).toMatchObject([
    { kind: 'profile.deleted', profileName: 'fpga', by: 'user:1' },
    { kind: 'profile.deleted', profileName: 'gpu', by: 'user:1' },
  ]);
  expect(new Set(deleted.map(({ id }) => id)).size).toBe(2);
});

it('has who renamed a trait in a device profile, and both names', () => {
  const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_A': 'required' }];
  const before = {
    uuid: 'profile-1' as DeviceProfileUuid,
    name: 'fpga',
    groups,
    revision: 1,
    microversion: '2.0',
    createdAt: user.at,
    createdBy: 'user:1',
  };
  const after = {
    ...before,
    groups: [{ 'resources:FPGA': '1', 'trait:CUSTOM_B': 'required' }],
    updatedAt: '2026-11-23T10:00:00.000Z',
    updatedBy: 'operator',
  };
  const names = { reason: 'trait:CUSTOM_A → trait:CUSTOM_B', profileName: 'fpga' };
  expect(of({ kind: 'profile', before, after })).toMatchObject([
    { kind: 'profile.changed', by: 'operator', at: after.updatedAt, ...names },
  ]);
  expect(of({ kind: 'profile', before, after: before })).toEqual([]);
});

describe('a record is stored', () => {
  const record = (given: Partial<HistoryRecord>): HistoryRecord => ({
    id: 'f',
    at: user.at,
    kind: 'handle.claimed',
    hostname: 'cmp1',
    projectId: 'project-1',
    arqUuid: 'arq-1',
    instanceUuid: 'instance-1',
    ...given,
  });
  const subjectsOf = (given: Partial<HistoryRecord>) =>
    partitionsFor(record(given)).map(({ subject }) => subject);

  it('with each of its subjects; nine copies for a server with one accelerator', () => {
    expect(subjectsOf({ kind: 'arq.created' })).toEqual(['arq']);
    expect(subjectsOf({})).toEqual(['instance', 'host', 'project', 'day']);
    expect(subjectsOf({ kind: 'handle.released' })).toEqual(['arq', 'host', 'project', 'day']);
  });

  it.each(historyKinds)('at least once, if its kind is %s', (kind) => {
    const partitions = partitionsFor(record({ kind })).map(
      ({ subject, key }) => `${subject} ${key}`,
    );
    expect(partitions.length).toBeGreaterThan(0);
    expect(new Set(partitions).size).toBe(partitions.length);
  });
});
