import { describe, expect, it } from 'vitest';
import { type ArqUuid, timeOfUuid, timeOrderedUuid } from '#core/domain/ids.ts';
import {
  countedClass,
  countUse,
  findShortage,
  mayRecount,
  outdated,
  type Quota,
  readLimits,
} from '#core/domain/quota/quota.ts';
import { anArq } from '#test/support/builders.ts';

const now = Date.parse('2026-07-01T00:10:00Z');
const at = (seconds: number, last = 0) =>
  timeOrderedUuid(now + seconds * 1000, new Uint8Array(10).fill(last)) as ArqUuid;
const quotaWith = (given: Partial<Quota>): Quota => ({
  projectId: 'p',
  limits: { FPGA: 4 },
  unitsLeft: { FPGA: 4 },
  recent: {},
  revision: 1,
  countedArqs: 0,
  countedAt: new Date(now).toISOString(),
  updatedAt: new Date(now).toISOString(),
  ...given,
});
const recentOf = (uuids: readonly string[]) =>
  Object.fromEntries(uuids.map((uuid) => [uuid, 'FPGA']));

it('a time-ordered uuid says when it was made', () => {
  expect(timeOfUuid(at(3))).toBe(now + 3000);
});

it('an ARQ counts under the first class of its group', () => {
  const group = { 'trait:CUSTOM_A': 'required', 'resources:VGPU': '2', 'resources:FPGA': '1' };
  expect(countedClass(group)).toBe('VGPU');
});

it('limits take null for no limit, and the spelling of profiles', () => {
  const wide = Object.fromEntries([...Array(65).keys()].map((n) => [`CUSTOM_${n}`, 1]));
  expect(readLimits({ fpga: 4, 'custom-nic': 0, VGPU: null })).toEqual({ FPGA: 4, CUSTOM_NIC: 0 });
  expect(() => readLimits(wide)).toThrow('limits: 65 resource classes; at most 64.');
});

it.each([
  [4, undefined],
  [5, { resourceClass: 'FPGA', limit: 6, inUse: 2, requested: 5 }],
])('%d units of 4 that are left: shortage %j', (length, shortage) => {
  const quota = quotaWith({ limits: { FPGA: 6 } });
  const units = Array.from({ length }, (_, index) => {
    return { uuid: at(0, index), resourceClass: 'FPGA' };
  });
  const other = { uuid: at(0, 99), resourceClass: 'VGPU' };
  expect(findShortage(quota, [other, ...units])).toEqual(shortage);
});

describe('recent creations', () => {
  it('are kept for a minute', () => {
    const recent = recentOf([at(-61), at(-59), at(0)]);
    expect(outdated(quotaWith({ recent }), now)).toEqual([at(-61)]);
  });

  it('beyond the newest hundred are kept for five seconds', () => {
    const older = [at(-6, 1), at(-6, 2), at(-4, 1)];
    const newest = Array.from({ length: 98 }, (_, index) => at(-1, index));
    const recent = recentOf([...older, ...newest]);
    expect(outdated(quotaWith({ recent }), now)).toEqual([at(-6, 1)]);
  });
});

describe('a recount', () => {
  it.each([
    [0, 999, false],
    [0, 1000, true],
    [2000, 3999, false],
    [2000, 4000, true],
    [20_001, 3_600_000, false],
  ])('after one of %d ARQs, %d ms ago, before a refusal: %s', (countedArqs, ms, may) => {
    expect(mayRecount(quotaWith({ countedArqs }), now + ms)).toBe(may);
  });

  it('counts recent ARQs, earlier ones, and creations that run, but no later ones', () => {
    const [recent, begun, dead, earlier, later] = [at(-1), at(-2), at(-3), at(-100), at(1)];
    const quota = quotaWith({ recent: recentOf([recent, begun, dead]) });
    const arqs = [recent, earlier, later].map((uuid) => anArq({ uuid }));
    expect(countUse(quota, arqs, new Set([begun]), now)).toEqual({
      inUse: { FPGA: 3 },
      settled: [dead],
      countedArqs: 3,
    });
  });

  it('forgets a stored ARQ as recent when the index must show it', () => {
    const old = at(-61);
    const quota = quotaWith({ recent: recentOf([old]) });
    const { inUse, settled } = countUse(quota, [anArq({ uuid: old })], new Set(), now);
    expect([inUse, settled]).toEqual([{ FPGA: 1 }, [old]]);
  });
});
