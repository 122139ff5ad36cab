import { describe, expect, it } from 'vitest';
import type { ArqUuid, BindId } from '#core/domain/ids.ts';
import { followUps } from '#core/domain/outbox.ts';
import {
  aBinding,
  anInstanceUuid,
  aProviderUuid,
  aStoredDevice,
  aStoredHandle,
} from '#test/support/builders.ts';

const tellNova = (binding = aBinding()) => [{ kind: 'tell-nova', binding }];
const claim = { arqUuid: 'a' as ArqUuid, instanceUuid: anInstanceUuid };

describe('what follows from a committed change', () => {
  it('is the word to Nova when a binding is made bound', () => {
    expect(followUps({ kind: 'instance', after: aBinding() })).toEqual(tellNova());
  });

  it('is the word to Nova when a started binding ends', () => {
    const before = aBinding({ state: 'BindStarted' });
    const after = aBinding({ state: 'BindFailed' });
    expect(followUps({ kind: 'instance', before, after })).toEqual(tellNova(after));
  });

  it('is a new word when the instance is bound anew', () => {
    const after = aBinding({ bindId: 'another' as BindId });
    expect(followUps({ kind: 'instance', before: aBinding(), after })).toEqual(tellNova(after));
  });

  it.each([
    ['a binding is only started', { after: aBinding({ state: 'BindStarted' }) }],
    ['one of its ARQs is released', { before: aBinding(), after: aBinding({ arqUuids: [] }) }],
    ['it ends', { before: aBinding() }],
  ])('is nothing for Nova when %s', (_case, images) => {
    expect(followUps({ kind: 'instance', ...images })).toEqual([]);
  });

  it('is a look at Placement when a device changes', () => {
    expect(followUps({ kind: 'device', after: aStoredDevice() })).toEqual([
      { kind: 'sync-providers', providerUuid: aProviderUuid },
    ]);
  });

  it('is a look at Placement when the last claim on a vanished handle ends', () => {
    const before = aStoredHandle({ isGone: true, claim });
    const after = aStoredHandle({ isGone: true });
    expect(followUps({ kind: 'handle', before, after })).toHaveLength(1);
  });

  it('is nothing when a handle is claimed or freed', () => {
    expect(followUps({ kind: 'handle', after: aStoredHandle({ claim }) })).toEqual([]);
    expect(followUps({ kind: 'handle', after: aStoredHandle() })).toEqual([]);
  });
});
