// Units of a pool that belong together.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { chooseUnits, timesTogether } from '#core/domain/pool/choose-units.ts';
import { amountBounds, sizeTraits } from '#core/domain/pool/pool-sizes.ts';
import { type SameLevel, wholesOf } from '#core/domain/pool/wholes.ts';
import { aStoredHandle } from '#test/support/builders.ts';

/** A host's units: those below one switch stand together, and `|` is between NUMA nodes. */
function board(drawing: string, sets: Readonly<Record<string, string>> = {}): AttachHandle[] {
  const nodes = drawing.split('|').map((node) => node.trim().split(' '));
  const units = nodes.flatMap((switches, numa) =>
    switches.flatMap((below, at) => [...below].map((name) => ({ name, numa, at }))),
  );
  return units.map(({ name, numa, at }, index) =>
    aStoredHandle({
      index: index + 1,
      info: { function: name },
      locality: {
        numa,
        root: `0000:${numa}${at}:00.0`,
        switch: `0000:${numa}${at}:01.0`,
        ...(sets[name] !== undefined && { set: sets[name] }),
      },
    }),
  );
}

const names = (handles: readonly AttachHandle[] | undefined) =>
  handles
    ?.map(({ info }) => info.function)
    .sort()
    .join('');

function choose(
  handles: readonly AttachHandle[],
  count: number,
  taken = '',
  same?: SameLevel,
): string | undefined {
  const isFree = ({ info }: AttachHandle) => !taken.includes(info.function as string);
  return names(chooseUnits(handles, { count, same, isFree, random: () => 0 }));
}

/** Two GPUs below each of four switches, two switches on each NUMA node. */
const eight = board('ab cd|ef gh');
/** Two pairs of the eight GPUs share an IOMMU group. */
const paired = board('abcd|efgh', { a: '29', b: '29', e: '58', f: '58' });

describe('choosing units of a pool', () => {
  it.each<[string, readonly AttachHandle[], number, string, SameLevel | undefined, string]>([
    ['the rest of a switch, not a whole one', eight, 1, 'a', undefined, 'b'],
    ['the node that is already used', eight, 2, 'ab', undefined, 'cd'],
    ['a whole node, not parts of two', eight, 4, 'ab', undefined, 'efgh'],
    ['what is there, where it need not be together', eight, 2, 'abcegh', undefined, 'df'],
    ['all of them', eight, 8, '', undefined, 'abcdefgh'],
    ['a set for two', paired, 2, 'cd', undefined, 'ab'],
    ['no part of a set for one', paired, 1, 'cdg', undefined, 'h'],
    ['a set and a single one for three', paired, 3, 'efgh', 'numa', 'abc'],
  ])('takes %s', (_case, handles, count, taken, same, expected) => {
    const chosen = choose(handles, count, taken, same);
    if (expected === 'abc') expect(['abc', 'abd']).toContain(chosen);
    else expect(chosen).toBe(expected);
  });

  it.each<[string, readonly AttachHandle[], number, string, SameLevel | undefined]>([
    ['two of one switch', eight, 2, 'aceg', 'switch'],
    ['four of one node', eight, 4, 'ae', 'numa'],
    ['one, where only sets are left', paired, 1, 'cdgh', undefined],
    ['the rest of a set', paired, 2, 'acdegh', undefined],
    ['a unit whose node is not known', [aStoredHandle({ locality: {} })], 1, '', 'numa'],
    ['more than there are', eight, 9, '', undefined],
  ])('refuses %s', (_case, handles, count, taken, same) => {
    expect(choose(handles, count, taken, same)).toBeUndefined();
  });
});

describe('the sizes of a pool', () => {
  const free = (taken: string) => (each: AttachHandle) =>
    !taken.includes(each.info.function as string);

  it('are traits, and say what is free together now', () => {
    expect(sizeTraits(eight, free('aeg'))).toEqual([
      'CUSTOM_ACCEL_SAME_SWITCH_1',
      'CUSTOM_ACCEL_SAME_SWITCH_2',
      'CUSTOM_ACCEL_SAME_ROOT_1',
      'CUSTOM_ACCEL_SAME_ROOT_2',
      'CUSTOM_ACCEL_SAME_NUMA_1',
      'CUSTOM_ACCEL_SAME_NUMA_2',
      'CUSTOM_ACCEL_SAME_NUMA_3',
      'CUSTOM_ACCEL_SAME_BOARD_1',
      'CUSTOM_ACCEL_SAME_BOARD_2',
      'CUSTOM_ACCEL_SAME_BOARD_3',
      'CUSTOM_ACCEL_SAME_BOARD_4',
      'CUSTOM_ACCEL_SAME_BOARD_5',
    ]);
    expect(sizeTraits(paired, free('cdgh'))).toContain('CUSTOM_ACCEL_SAME_BOARD_4');
    expect(sizeTraits(paired, free('cdgh'))).not.toContain('CUSTOM_ACCEL_SAME_BOARD_3');
  });

  it('bound the amounts that Placement allocates', () => {
    const sets = board('ab|cd', { a: '1', b: '1', c: '2', d: '2' });
    expect(amountBounds(sets)).toEqual({ minUnit: 2, stepSize: 2 });
    expect(amountBounds(paired)).toEqual({ minUnit: 1, stepSize: 1 });
  });

  it('serve as many servers as fit', () => {
    const all = { isFree: () => true, same: undefined };
    expect([8, 4, 2, 1].map((count) => timesTogether(eight, { ...all, count }))).toEqual([
      1, 2, 4, 8,
    ]);
    // Sets serve no server that asks for one.
    expect([8, 4, 2, 1].map((count) => timesTogether(paired, { ...all, count }))).toEqual([
      1, 2, 4, 4,
    ]);
  });
});

const arrival = fc.record({
  count: fc.constantFrom(1, 1, 2, 2, 4, 8),
  same: fc.constantFrom<SameLevel | undefined>('switch', 'numa', 'numa', 'board', undefined),
});

/** How many units the requests get in their order, with each choice of units. */
function best(
  handles: readonly AttachHandle[],
  requests: readonly { readonly count: number; readonly same: SameLevel | undefined }[],
  taken: ReadonlySet<AttachHandle> = new Set(),
): number {
  const [request, ...later] = requests;
  if (!request) return 0;
  const all = choices(handles, request, taken);
  // A bind does not know what comes later: it serves each request that it can.
  if (all.length === 0) return best(handles, later, taken);
  const served = all.map((each) => best(handles, later, new Set([...taken, ...each])));
  return request.count + Math.max(...served);
}

/** One of each kind of choice: units below one switch are alike. */
function choices(
  handles: readonly AttachHandle[],
  { count, same }: { readonly count: number; readonly same: SameLevel | undefined },
  taken: ReadonlySet<AttachHandle>,
): AttachHandle[][] {
  const left = handles.filter((each) => !taken.has(each));
  const switches = [...Map.groupBy(left, ({ locality }) => locality?.switch).values()];
  const pick = (at: number, missing: number): AttachHandle[][] => {
    if (missing === 0) return [[]];
    const below = switches[at];
    if (!below) return [];
    return Array.from({ length: Math.min(missing, below.length) + 1 }, (_, take) =>
      pick(at + 1, missing - take).map((rest) => [...below.slice(0, take), ...rest]),
    ).flat();
  };
  const isTogether = (chosen: readonly AttachHandle[]) =>
    !same || same === 'board' || new Set(chosen.map(({ locality }) => locality?.[same])).size === 1;
  return pick(0, count).filter(isTogether);
}

describe('the packing of a pool', () => {
  it('is at least 95 % of the best', () => {
    let given = 0;
    let possible = 0;
    fc.assert(
      fc.property(fc.array(arrival, { minLength: 1, maxLength: 6 }), fc.nat(), (requests, seed) => {
        const taken = new Set<AttachHandle>();
        for (const { count, same } of requests) {
          const isFree = (each: AttachHandle) => !taken.has(each);
          const random = () => ((seed * 7919) % 101) / 101;
          const chosen = chooseUnits(eight, { count, same, isFree, random });
          for (const each of chosen ?? []) taken.add(each);
        }
        given += taken.size;
        possible += best(eight, requests);
      }),
      { numRuns: 10_000 },
    );
    expect(possible).toBeGreaterThan(0);
    expect(given / possible).toBeGreaterThanOrEqual(0.95);
  });

  it('takes sets whole, and as many units as wanted from the place that is wanted', () => {
    const node = fc.constantFrom(0, 1, undefined);
    const unit = fc.record({
      numa: node,
      set: fc.constantFrom('s', 't', undefined),
      isFree: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(unit, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 8 }),
        fc.constantFrom<SameLevel | undefined>('numa', undefined),
        (units, count, same) => {
          const handles = units.map(({ numa, set, isFree }, index) =>
            aStoredHandle({
              index,
              info: { isFree: String(isFree) },
              locality: { ...(numa !== undefined && { numa }), ...(set && { set }) },
            }),
          );
          const isFree = ({ info }: AttachHandle) => info.isFree === 'true';
          const chosen = chooseUnits(handles, { count, same, isFree, random: () => 0.5 });
          if (!chosen) return;
          expect(new Set(chosen).size).toBe(count);
          expect(chosen.every(isFree)).toBe(true);
          if (same) expect(new Set(chosen.map(({ locality }) => locality?.numa)).size).toBe(1);
          for (const whole of wholesOf(handles)) {
            const taken = whole.handles.filter((each) => chosen.includes(each)).length;
            expect([0, whole.handles.length]).toContain(taken);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
