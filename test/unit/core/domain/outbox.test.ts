import { describe, expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type { ArqUuid, BindId, ReleaseId } from '#core/domain/ids.ts';
import { type Change, followUps } from '#core/domain/outbox/outbox.ts';
import { present } from '#core/shapes/derive/present.ts';
import {
  aBinding,
  anInstanceUuid,
  aProviderUuid,
  aStoredDevice,
  aStoredHandle,
} from '#test/support/builders.ts';

const started = aBinding({ state: 'BindStarted' });
const bound = aBinding();
const reserving = aBinding({ reservedProviders: [aProviderUuid] });
const unseen = { isAwaited: false } as const;
const seen = { isAwaited: true } as const;
const note = { instances: [anInstanceUuid], bootId: 'boot-1' };
const work = {
  hostname: 'cmp1',
  handles: [],
  startedAt: '2026-07-01T01:02:03.000Z',
  id: 'work-1' as ReleaseId,
};
const release = { ...work, kind: 'release' as const };
const program = {
  ...work,
  imageId: 'image-1',
  providerUuid: aProviderUuid,
  kind: 'program' as const,
};
const handle = aStoredHandle();
const unit = aStoredHandle({ locality: { numa: 0 } });
const held = aStoredHandle({ quarantine: 'not confirmed' });
const kept = aStoredHandle({ restoredAt: '2026-07-01T01:02:03Z' });
const claim = { arqUuid: 'a' as ArqUuid, instanceUuid: anInstanceUuid };
const sync = [{ kind: 'sync-providers', providerUuid: aProviderUuid }];

describe('an event to Nova follows when', () => {
  it.each<[string, InstanceBinding | undefined, InstanceBinding, boolean]>([
    ['a started binding becomes bound', started, bound, true],
    ['a started binding ends', started, aBinding({ state: 'BindFailed' }), true],
    ['a binding is bound at once', undefined, bound, false],
    ['no list has found the bind', { ...started, ...unseen }, aBinding(unseen), false],
    [
      'no list has found the bind that fails',
      { ...started, ...unseen },
      aBinding({ ...unseen, state: 'BindFailed' }),
      false,
    ],
    ['a list has found the bind under way', { ...started, ...seen }, aBinding(seen), true],
    [
      'a binding is ready again after a boot',
      aBinding({ ...unseen, state: 'provisioning' }),
      aBinding(unseen),
      true,
    ],
    ['the instance is bound again', bound, aBinding({ bindId: 'another' as BindId }), false],
  ])('%s', (_case, before, after, isAwaited) => {
    const images = before ? { before, after } : { after };
    expect(followUps({ kind: 'instance', ...images })).toContainEqual({
      kind: 'notify-nova',
      binding: after,
      isAwaited,
    });
  });
});

describe('a look at the server', () => {
  const another = 'another' as BindId;

  it.each<[string, InstanceBinding | undefined, InstanceBinding, number]>([
    ['follows a bind that the host must make', undefined, started, 1],
    ['follows a bind at once', undefined, bound, 1],
    ['follows another bind of the instance', bound, aBinding({ bindId: another }), 1],
    ['does not follow the end of a bind', started, bound, 0],
    ['does not follow a bind that failed', undefined, aBinding({ state: 'BindFailed' }), 0],
    ['does not follow an import', undefined, aBinding({ isImported: true }), 0],
  ])('%s', (_case, before, after, looks) => {
    const all = followUps({ kind: 'instance', ...(before && { before }), after });
    const found = all.filter(({ kind }) => kind === 'look-at-server');
    expect(found).toEqual(Array(looks).fill({ kind: 'look-at-server', binding: after }));
  });
});

it.each<[string, Change]>([
  [
    'a list notes that Nova waits',
    { kind: 'instance', before: { ...started, ...unseen }, after: { ...started, ...seen } },
  ],
  [
    'the host reboots',
    { kind: 'instance', before: bound, after: aBinding({ state: 'provisioning' }) },
  ],
  [
    'an ARQ of the instance is released',
    { kind: 'instance', before: bound, after: aBinding({ arqUuids: [] }) },
  ],
  ['a binding ends', { kind: 'instance', before: bound }],
  ['a release changes', { kind: 'release', before: release, after: release }],
  ['a release ends', { kind: 'release', before: release }],
  ['a program changes', { kind: 'program', before: program, after: program }],
  ['a bind is annotated', { kind: 'job', uuid: 'job-1', after: note }],
  ['a handle is claimed', { kind: 'handle', after: aStoredHandle({ claim }) }],
  ['a handle is freed', { kind: 'handle', after: handle }],
])('nothing follows when %s', (_case, change) => {
  expect(followUps(change)).toEqual([]);
});

it.each<[string, Change, object]>([
  [
    'a bind is started',
    { kind: 'instance', after: started },
    { kind: 'bind', instanceUuid: anInstanceUuid, bindId: started.bindId },
  ],
  [
    'a release is started',
    { kind: 'release', after: release },
    { kind: 'release', releaseId: release.id },
  ],
  [
    'an operator programs a region',
    { kind: 'program', after: program },
    { kind: 'program', programId: program.id },
  ],
  [
    'a reprovision is stored',
    { kind: 'job', uuid: 'job-1', after: { ...note, bootedHost: 'cmp1' } },
    { kind: 'reprovision', jobUuid: 'job-1' },
  ],
])('host work follows when %s', (_case, change, started) => {
  expect(followUps(change)).toContainEqual({ kind: 'start-work', work: started });
});

it.each<[string, Change]>([
  ['a handle enters quarantine', { kind: 'handle', before: handle, after: held }],
  ['a handle leaves quarantine', { kind: 'handle', before: held, after: handle }],
  ['a restored handle is reinstated', { kind: 'handle', before: kept, after: handle }],
  ['a unit of a pool is claimed', { kind: 'handle', before: unit, after: { ...unit, claim } }],
  ['a unit of a pool is freed', { kind: 'handle', before: { ...unit, claim }, after: unit }],
  ['a device changes', { kind: 'device', after: aStoredDevice() }],
  ['units are reserved for an instance', { kind: 'instance', before: bound, after: reserving }],
  ['units of an instance are offered', { kind: 'instance', before: reserving, after: bound }],
  ['an instance with reserved units ends', { kind: 'instance', before: reserving }],
  [
    'a server holds a handle that is gone no longer',
    {
      kind: 'handle',
      before: aStoredHandle({ isGone: true, claim }),
      after: aStoredHandle({ isGone: true, release: 'release' as never }),
    },
  ],
  [
    'the last claim on a gone handle ends',
    {
      kind: 'handle',
      before: aStoredHandle({ isGone: true, claim }),
      after: aStoredHandle({ isGone: true }),
    },
  ],
])('a comparison with Placement follows when %s', (_case, change) => {
  expect(followUps(change)).toEqual(sync);
});

describe('a look at the tree in Placement', () => {
  const summary = { hostname: 'cmp1', firstSeen: '', devices: 1, notOffered: 0 };
  const since = (isConnected: boolean, minute: number) => ({
    ...summary,
    presence: { isConnected, since: `2026-07-01T01:0${minute}:00.000Z` },
  });
  const look = { kind: 'restore-tree', hostname: 'cmp1' };

  it('follows when the agent of a known host connects, also where its end was not seen', () => {
    const before = since(false, 1);
    expect(followUps({ kind: 'host', before, after: since(true, 2) })).toEqual([look]);
    const connected = since(true, 1);
    expect(followUps({ kind: 'host', before: connected, after: since(true, 2) })).toEqual([look]);
  });

  it.each<[string, HostSummary | undefined, HostSummary | undefined]>([
    ['its agent disconnects', since(true, 1), since(false, 2)],
    ['it has another number of devices', since(true, 1), { ...since(true, 1), devices: 2 }],
    ['it is new', undefined, since(true, 1)],
    ['it is forgotten', since(true, 1), undefined],
  ])('does not follow when %s', (_case, before, after) => {
    expect(followUps({ kind: 'host', ...present({ before, after }) })).toEqual([]);
  });
});
