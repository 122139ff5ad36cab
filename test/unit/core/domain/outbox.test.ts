import { describe, expect, it } from 'vitest';
import type { ArqUuid, BindId, ReleaseId } from '#core/domain/ids.ts';
import { followUps } from '#core/domain/outbox/outbox.ts';
import {
  aBinding,
  anInstanceUuid,
  aProviderUuid,
  aStoredDevice,
  aStoredHandle,
} from '#test/support/builders.ts';

const tellNova = (binding = aBinding(), isAwaited = true) => [
  { kind: 'notify-nova', binding, isAwaited },
];
const claim = { arqUuid: 'a' as ArqUuid, instanceUuid: anInstanceUuid };

describe('the follow-up of a committed change', () => {
  it('is an event to Nova when a started binding becomes bound', () => {
    const before = aBinding({ state: 'BindStarted' });
    expect(followUps({ kind: 'instance', before, after: aBinding() })).toEqual(tellNova());
  });

  it('is an event that Nova does not await when a binding is bound at once', () => {
    expect(followUps({ kind: 'instance', after: aBinding() })).toEqual(tellNova(aBinding(), false));
  });

  it('is an event that Nova does not await when no list has found the bind under way', () => {
    const before = aBinding({ state: 'BindStarted', isAwaited: false });
    const bound = aBinding({ isAwaited: false });
    const failed = aBinding({ state: 'BindFailed', isAwaited: false });
    for (const after of [bound, failed]) {
      expect(followUps({ kind: 'instance', before, after })).toEqual(tellNova(after, false));
    }
  });

  it('is an event to Nova when a list has found the bind under way', () => {
    const before = aBinding({ state: 'BindStarted', isAwaited: true });
    const after = aBinding({ isAwaited: true });
    expect(followUps({ kind: 'instance', before, after })).toEqual(tellNova(after));
  });

  it('is an event to Nova when a binding is ready again after a boot', () => {
    const before = aBinding({ state: 'provisioning', isAwaited: false });
    const after = aBinding({ isAwaited: false });
    expect(followUps({ kind: 'instance', before, after })).toEqual(tellNova(after));
  });

  it('is nothing when a list notes that Nova waits', () => {
    const before = aBinding({ state: 'BindStarted', isAwaited: false });
    const after = aBinding({ state: 'BindStarted', isAwaited: true });
    expect(followUps({ kind: 'instance', before, after })).toEqual([]);
  });

  it('is an event to Nova when a started binding ends', () => {
    const before = aBinding({ state: 'BindStarted' });
    const after = aBinding({ state: 'BindFailed' });
    expect(followUps({ kind: 'instance', before, after })).toEqual(tellNova(after));
  });

  it('is another event to Nova when the instance is bound again', () => {
    const after = aBinding({ bindId: 'another' as BindId });
    expect(followUps({ kind: 'instance', before: aBinding(), after })).toEqual(
      tellNova(after, false),
    );
  });

  it.each([
    ['the host reboots', { before: aBinding(), after: aBinding({ state: 'provisioning' }) }],
    ['one of its ARQs is released', { before: aBinding(), after: aBinding({ arqUuids: [] }) }],
    ['it ends', { before: aBinding() }],
  ])('is nothing for Nova when %s', (_case, images) => {
    expect(followUps({ kind: 'instance', ...images })).toEqual([]);
  });

  it('is host work when a bind is started', () => {
    const after = aBinding({ state: 'BindStarted' });
    const { instanceUuid, bindId } = after;
    expect(followUps({ kind: 'instance', after })).toEqual([
      { kind: 'start-work', work: { kind: 'bind', instanceUuid, bindId } },
    ]);
  });

  it('is host work when a release is started', () => {
    const release = {
      kind: 'release' as const,
      id: 'release-1' as ReleaseId,
      hostname: 'cmp1',
      handles: [],
      startedAt: '2026-07-01T01:02:03.000Z',
    };
    expect(followUps({ kind: 'release', after: release })).toEqual([
      { kind: 'start-work', work: { kind: 'release', releaseId: release.id } },
    ]);
    expect(followUps({ kind: 'release', before: release, after: release })).toEqual([]);
    expect(followUps({ kind: 'release', before: release })).toEqual([]);
  });

  it('is host work when an operator programs a region, once', () => {
    const program = {
      kind: 'program' as const,
      id: 'program-1' as ReleaseId,
      hostname: 'cmp1',
      handles: [],
      imageId: 'image-1',
      providerUuid: aProviderUuid,
      startedAt: '2026-07-01T01:02:03.000Z',
    };
    expect(followUps({ kind: 'program', after: program })).toEqual([
      { kind: 'start-work', work: { kind: 'program', programId: program.id } },
    ]);
    expect(followUps({ kind: 'program', before: program, after: program })).toEqual([]);
  });

  it('is host work when a reprovision is stored, and not when a bind is annotated', () => {
    const note = { instances: [anInstanceUuid], bootId: 'boot-1' };
    const after = { ...note, bootedHost: 'cmp1' };
    expect(followUps({ kind: 'job', uuid: 'job-1', after })).toEqual([
      { kind: 'start-work', work: { kind: 'reprovision', jobUuid: 'job-1' } },
    ]);
    expect(followUps({ kind: 'job', uuid: 'job-1', after: note })).toEqual([]);
  });

  it('is a comparison with Placement when a handle enters or leaves quarantine', () => {
    const [free, held] = [aStoredHandle(), aStoredHandle({ quarantine: 'not confirmed' })];
    expect(followUps({ kind: 'handle', before: free, after: held })).toHaveLength(1);
    expect(followUps({ kind: 'handle', before: held, after: free })).toHaveLength(1);
  });

  it('is a comparison with Placement when a restored handle is reinstated', () => {
    const [free, kept] = [aStoredHandle(), aStoredHandle({ restoredAt: '2026-07-01T01:02:03Z' })];
    expect(followUps({ kind: 'handle', before: kept, after: free })).toHaveLength(1);
  });

  it('is a comparison with Placement when a device changes', () => {
    expect(followUps({ kind: 'device', after: aStoredDevice() })).toEqual([
      { kind: 'sync-providers', providerUuid: aProviderUuid },
    ]);
  });

  it('is a comparison with Placement when the last claim on a gone handle ends', () => {
    const before = aStoredHandle({ isGone: true, claim });
    const after = aStoredHandle({ isGone: true });
    expect(followUps({ kind: 'handle', before, after })).toHaveLength(1);
  });

  it('is empty when a handle is claimed or freed', () => {
    expect(followUps({ kind: 'handle', after: aStoredHandle({ claim }) })).toEqual([]);
    expect(followUps({ kind: 'handle', after: aStoredHandle() })).toEqual([]);
  });
});
