// The capacity of a host is what binds one after the other reach, at best.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Arq } from '#core/domain/arq/arq.ts';
import { planBind, type StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { type CapacityHost, measureCapacity } from '#core/domain/capacity/capacity.ts';
import { kindOf, providerOf } from '#core/domain/capacity/measured-hosts.ts';
import { serversThatFit } from '#core/domain/capacity/packing.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { DomainError } from '#core/domain/errors.ts';
import {
  type ArqUuid,
  derivedUuid,
  type HandleUuid,
  type InstanceUuid,
  type ProviderUuid,
  type ReleaseId,
} from '#core/domain/ids.ts';
import { arqCount, type Group } from '#core/domain/profile/device-profile.ts';
import { aDeployable, anArq, aStoredHandle } from '#test/support/builders.ts';

const attachTypes = ['TEST_PCI'] as const;
const release = derivedUuid('release', '1') as ReleaseId;

const states: Readonly<Record<string, Partial<AttachHandle>>> = {
  free: {},
  claimed: { claim: { arqUuid: 'other' as ArqUuid, instanceUuid: 'other' as InstanceUuid } },
  releasing: { release },
  cleaning: { release, cleanSeconds: 7200 },
  quarantined: { release, quarantine: 'no answer' },
  restored: { restoredAt: '2026-07-01T00:00:00.000Z' },
  gone: { isGone: true },
};

const handle = fc.constantFrom('free', 'free', 'free', ...Object.keys(states));
const provider = fc.record({
  handles: fc.array(handle, { maxLength: 3 }),
  resourceClass: fc.constantFrom('FPGA', 'FPGA', 'VGPU'),
  traits: fc.subarray(['CUSTOM_A', 'CUSTOM_B']),
  deviceStatus: fc.constantFrom('enabled', 'enabled', 'enabled', 'maintaining'),
  fault: fc.constantFrom('', '', '', '', 'unhealthy', 'conflict', 'type'),
  isRegion: fc.boolean(),
});
const oneGroup = fc.record({
  resource: fc.constantFrom('FPGA', 'FPGA', 'VGPU'),
  amount: fc.constantFrom('1', '1', '2'),
  required: fc.subarray(['CUSTOM_A']),
  forbidden: fc.subarray(['CUSTOM_B']),
});

interface GivenGroup {
  readonly resource: string;
  readonly amount: string;
  readonly required: readonly string[];
  readonly forbidden: readonly string[];
}

function groupOf({ resource, amount, required, forbidden }: GivenGroup): Group {
  return {
    [`resources:${resource}`]: amount,
    ...Object.fromEntries(required.map((trait) => [`trait:${trait}`, 'required'])),
    ...Object.fromEntries(forbidden.map((trait) => [`trait:${trait}`, 'forbidden'])),
  };
}

const world = fc.array(provider, { minLength: 1, maxLength: 3 }).map((all) =>
  all.map((given, at): StoredProvider => {
    const providerUuid = derivedUuid('provider', String(at)) as ProviderUuid;
    const { handles, fault, isRegion, ...fields } = given;
    return {
      deployable: aDeployable({
        ...fields,
        providerUuid,
        numAccelerators: handles.length,
        ...(isRegion && { region: 'r', regionKind: 'reconfigurable-region' }),
        ...(fault === 'unhealthy' && { unhealthy: 'is hot' }),
        ...(fault === 'conflict' && { conflictSince: '2026-07-01T00:00:00.000Z' }),
        ...(fault === 'type' && { attachTypes: ['MDEV'] }),
      }),
      handles: handles.map((state, index) => ({
        ...aStoredHandle({ providerUuid, ...states[state] }),
        uuid: derivedUuid('handle', `${at}/${index}`) as HandleUuid,
      })),
    };
  }),
);

const hostOf = (providers: readonly StoredProvider[]): CapacityHost => ({
  hostname: 'cmp1',
  providers,
  isPaused: false,
});

/** The most servers that binds reach, whichever providers Nova chooses. */
function mostBinds(
  groups: readonly Group[],
  providers: readonly StoredProvider[],
  done = 0,
): number {
  let most = done;
  for (const choice of choices(groups.length, providers)) {
    const after = afterBind(groups, providers, choice, done);
    if (after) most = Math.max(most, mostBinds(groups, after, done + 1));
  }
  return most;
}

function choices(count: number, providers: readonly StoredProvider[]): StoredProvider[][] {
  if (count === 0) return [[]];
  return choices(count - 1, providers).flatMap((rest) => providers.map((each) => [...rest, each]));
}

function afterBind(
  groups: readonly Group[],
  providers: readonly StoredProvider[],
  choice: readonly StoredProvider[],
  server: number,
): StoredProvider[] | undefined {
  const instanceUuid = derivedUuid('instance', String(server)) as InstanceUuid;
  const arqs = new Map<ArqUuid, Arq>();
  const targets = groups.flatMap((group, at) =>
    Array.from({ length: arqCount(group) }, (_, copy) => {
      const arqUuid = derivedUuid('arq', `${server}/${at}/${copy}`) as ArqUuid;
      arqs.set(arqUuid, anArq({ uuid: arqUuid, group }));
      const { providerUuid } = (choice[at] as StoredProvider).deployable;
      return { arqUuid, hostname: 'cmp1', providerUuid, instanceUuid };
    }),
  );
  const byUuid = new Map(providers.map((each) => [each.deployable.providerUuid, each]));
  try {
    const claims = planBind({ targets, arqs, providers: byUuid, attachTypes, random: () => 0 });
    const claimed = new Map(claims.map(({ handle: { uuid }, arq }) => [uuid, arq.uuid]));
    return providers.map(({ deployable, handles }) => ({
      deployable,
      handles: handles.map((each) => {
        const arqUuid = claimed.get(each.uuid);
        return arqUuid ? { ...each, claim: { arqUuid, instanceUuid } } : each;
      }),
    }));
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}

it('of a pool says how many units are free and not together', () => {
  const localities = [0, 0, 0, 1, 1].map((numa) => ({ numa }));
  const handles = localities.map((locality, index) => ({
    ...aStoredHandle({ uuid: derivedUuid('handle', String(index)) as HandleUuid }),
    locality,
  }));
  const deployable = aDeployable({ resourceClass: 'PGPU', traits: [] });
  const host = { hostname: 'cmp1', isPaused: false, providers: [{ deployable, handles }] };
  const groupsOf = (amount: string) => [{ 'resources:PGPU': amount, 'accel:same': 'numa' }];
  expect(measureCapacity(groupsOf('4'), host, attachTypes)).toMatchObject({
    fits: 0,
    stoppedBy: { apart: 5 },
  });
  expect(measureCapacity(groupsOf('2'), host, attachTypes)).toMatchObject({
    fits: 2,
    stoppedBy: { remainder: 1 },
  });
  const kept = { ...host, providers: host.providers.map((each) => providerOf(kindOf(each))) };
  for (const amount of ['1', '2', '3', '4']) {
    const asked = groupsOf(amount);
    expect(measureCapacity(asked, kept, attachTypes)).toEqual(
      measureCapacity(asked, host, attachTypes),
    );
  }
});

describe('the capacity of a host', () => {
  it('is the most servers that binds reach where the groups are of one size', () => {
    const groups = fc
      .tuple(fc.array(oneGroup, { minLength: 1, maxLength: 2 }), fc.constantFrom('1', '2'))
      .map(([all, amount]) => all.map((each) => groupOf({ ...each, amount })));
    fc.assert(
      fc.property(groups, world, (profile, providers) => {
        const fits = measureCapacity(profile, hostOf(providers), attachTypes)?.fits ?? 0;
        expect(fits).toBe(mostBinds(profile, providers));
      }),
      { numRuns: 400 },
    );
  });

  it('is never more than binds reach where the groups differ in size', () => {
    const groups = fc
      .array(oneGroup, { minLength: 2, maxLength: 2 })
      .map((all) => all.map((each) => groupOf(each)));
    fc.assert(
      fc.property(groups, world, (profile, providers) => {
        const fits = measureCapacity(profile, hostOf(providers), attachTypes)?.fits ?? 0;
        expect(fits).toBeLessThanOrEqual(mostBinds(profile, providers));
      }),
      { numRuns: 400 },
    );
  });

  it('is that of the kinds of its providers, which the sweep keeps', () => {
    const groups = fc.array(oneGroup, { minLength: 1, maxLength: 2 });
    const image = { 'resources:FPGA': '1', 'accel:function_id': 'any' };
    fc.assert(
      fc.property(groups, world, fc.boolean(), (given, providers, isPaused) => {
        const kept = providers.map((each) => providerOf(JSON.parse(JSON.stringify(kindOf(each)))));
        for (const profile of [given.map(groupOf), [image]]) {
          const capacityOf = (all: readonly StoredProvider[]) =>
            measureCapacity(profile, { ...hostOf(all), isPaused }, attachTypes);
          expect(capacityOf(kept)).toEqual(capacityOf(providers));
        }
      }),
      { numRuns: 400 },
    );
  });

  it('is one server for each region that must be programmed', () => {
    const image = { 'resources:FPGA': '1', 'accel:function_id': 'any' };
    fc.assert(
      fc.property(world, (providers) => {
        const fits = measureCapacity([image], hostOf(providers), attachTypes)?.fits ?? 0;
        expect(fits).toBe(mostBinds([image], providers));
      }),
    );
  });

  it('explains each handle that serves no further server', () => {
    fc.assert(
      fc.property(oneGroup, world, (given, providers) => {
        const group = groupOf(given);
        const found = measureCapacity([group], hostOf(providers), attachTypes);
        const own = providers.filter(
          ({ deployable }) => deployable.resourceClass === given.resource,
        );
        const handles = own.reduce((sum, each) => sum + each.handles.length, 0);
        const stopped = Object.values(found?.stoppedBy ?? {}).reduce((sum, each) => sum + each, 0);
        expect(stopped).toBe(handles - (found?.fits ?? 0) * arqCount(group));
      }),
    );
  });

  it('a host that is away has none, and a paused host none that it must prepare', () => {
    const made = aStoredHandle({ prepare: 'at-bind' });
    const ready = { ...aStoredHandle({ index: 2 }) };
    const providers = [{ deployable: aDeployable(), handles: [made, ready] }];
    const groups = [{ 'resources:FPGA': '1' }];
    const away = { ...hostOf(providers), stoppedBy: 'host-away' as const };
    expect(measureCapacity(groups, away, attachTypes)).toMatchObject({
      fits: 0,
      stoppedBy: { 'host-away': 2 },
    });
    const paused = { ...hostOf(providers), isPaused: true };
    expect(measureCapacity(groups, paused, attachTypes)).toMatchObject({
      fits: 1,
      stoppedBy: { 'host-paused': 1 },
    });
  });
});

it('4,096 handles and 32 groups are counted at once', () => {
  const demands = Array.from({ length: 32 }, () => ({ size: 1 }));
  const unlimited = demands.map(() => Number.POSITIVE_INFINITY);
  const supplies = Array.from({ length: 512 }, () => ({ free: 8, most: unlimited }));
  expect(serversThatFit(demands, supplies)).toBe(128);
});

it('a demand moves elsewhere where another has no other place', () => {
  // The first demand fills the first supply first; the second can be there only.
  const supplies = [
    { free: 2, most: [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] },
    { free: 2, most: [Number.POSITIVE_INFINITY, 0] },
  ];
  expect(serversThatFit([{ size: 1 }, { size: 1 }], supplies)).toBe(2);
});
