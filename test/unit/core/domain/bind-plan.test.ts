import { describe, expect, it } from 'vitest';
import type { Arq } from '#core/domain/arq.ts';
import { type BindFacts, planBind, type StoredProvider } from '#core/domain/bind-plan.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import {
  anArq,
  anInstanceUuid,
  aProvider,
  aProviderUuid,
  aStoredHandle,
  aTarget,
} from '#test/support/builders.ts';

function facts(provider: StoredProvider, arqs: readonly Arq[] = [anArq()]): BindFacts {
  return {
    targets: arqs.map(({ uuid }) => aTarget({ arqUuid: uuid })),
    arqs: new Map(arqs.map((arq) => [arq.uuid, arq])),
    providers: new Map([[aProviderUuid, provider]]),
    attachTypes: ['PCI', 'TEST_PCI'],
    random: () => 0,
  };
}

const two = [anArq({ uuid: 'arq-1' as ArqUuid }), anArq({ uuid: 'arq-2' as ArqUuid })];

describe('planning a bind', () => {
  it('gives each ARQ a handle of its own', () => {
    const claims = planBind(facts(aProvider(), two));
    expect(claims.map(({ handle }) => handle.uuid)).toEqual([
      aStoredHandle({ index: 1 }).uuid,
      aStoredHandle({ index: 2 }).uuid,
    ]);
  });

  it('picks among the free handles by chance', () => {
    const [claim] = planBind({ ...facts(aProvider()), random: () => 0.99 });
    expect(claim?.handle.uuid).toBe(aStoredHandle({ index: 2 }).uuid);
  });

  it('passes over handles that are claimed or gone', () => {
    const claim = { arqUuid: 'other' as ArqUuid, instanceUuid: anInstanceUuid };
    const handles = [
      aStoredHandle({ index: 1, claim }),
      aStoredHandle({ index: 2, isGone: true }),
      aStoredHandle({ index: 3 }),
    ];
    const [planned] = planBind(facts({ ...aProvider(), handles }));
    expect(planned?.handle.uuid).toBe(aStoredHandle({ index: 3 }).uuid);
  });

  it.each<[string, BindFacts, string]>([
    ['fewer free handles than ARQs', facts(aProvider({}, 1), two), 'fewer than 2 free'],
    ['another host', facts(aProvider({ hostname: 'cmp2' })), 'is on host cmp2, not on cmp1'],
    ['another class', facts(aProvider({ resourceClass: 'PGPU' })), 'has PGPU, but'],
    [
      'a device under maintenance',
      facts(aProvider({ deviceStatus: 'maintaining' })),
      'maintenance',
    ],
    ['a device that is gone', facts(aProvider({ isGone: true })), 'Deployable not found'],
    [
      'a trait that is missing',
      facts(aProvider(), [
        anArq({ group: { 'resources:FPGA': '1', 'trait:CUSTOM_X': 'required' } }),
      ]),
      'lacks CUSTOM_X',
    ],
    [
      'a trait that is forbidden',
      facts(aProvider(), [
        anArq({ group: { 'resources:FPGA': '1', 'trait:OWNER_CYBORG': 'forbidden' } }),
      ]),
      'has OWNER_CYBORG',
    ],
    [
      'a type that the hypervisor ignores',
      facts({ ...aProvider(), handles: [aStoredHandle({ type: 'MDEV' })] }),
      'attaches as MDEV',
    ],
    [
      'an ARQ that is bound',
      facts(aProvider(), [anArq({ state: 'Bound' })]),
      'is Bound and cannot',
    ],
    [
      'an image that nobody can program',
      facts(aProvider(), [anArq({ group: { 'resources:FPGA': '1', 'accel:function_id': 'a' } })]),
      'cannot be programmed',
    ],
  ])('refuses %s', (_case, given, sentence) => {
    expect(() => planBind(given)).toThrow(sentence);
  });

  it('refuses a provider that nobody reported', () => {
    expect(() => planBind({ ...facts(aProvider()), providers: new Map() })).toThrow(
      `resource provider uuid ${aProviderUuid}`,
    );
  });
});
