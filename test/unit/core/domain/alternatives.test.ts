// Alternatives of profiles, what Placement has room for, and the promises of the last moments.

import { describe, expect, it } from 'vitest';
import { countServers } from '#core/domain/placement/candidates.ts';
import { canonicalLists, competingWith, groupLists } from '#core/domain/profile/alternatives.ts';
import {
  type AlternativePromises,
  bestAlternative,
  countedAgain,
  noPromises,
  type Promises,
} from '#core/domain/profile/promises.ts';

const fpga = { 'resources:FPGA': '1' };
const pgpu = { 'resources:PGPU': '1' };

const manyTraits = Object.fromEntries(
  Array.from({ length: 60 }, (_, index) => [
    `trait:CUSTOM_${String(index).padStart(240, 'A')}`,
    'required',
  ]),
);

describe('the alternatives of a profile', () => {
  it.each<[string, readonly object[], readonly (readonly object[])[], string]>([
    ['fewer groups', [fpga, fpga], [[pgpu]], 'alternatives[0] has 1 group, and groups has 2'],
    [
      'another amount',
      [fpga],
      [[pgpu], [{ 'resources:PGPU': '2' }]],
      'alternatives[1], group 0 asks for 2 PGPU (2 accelerator requests), and groups[0] for 1 FPGA',
    ],
    [
      'two requests of one unit',
      [fpga],
      [[{ ...fpga, 'trait:CUSTOM_FPGA_XILINX': 'required' }]],
      'asks for 1 FPGA (2 accelerator requests)',
    ],
    ['a wrong key', [fpga], [[{ ...pgpu, 'accel:colour': 'red' }]], 'alternatives[0]: groups[0]'],
    ['too many', [fpga], Array.from({ length: 8 }, () => [pgpu]), 'at most 8 are allowed'],
    [
      'more than a request can store',
      [{ ...fpga, 'resources:FPGA': '32', 'trait:CUSTOM_A': 'required', ...manyTraits }],
      Array.from({ length: 7 }, () => [{ 'resources:PGPU': '32', ...manyTraits }]),
      'at most 2000000 are allowed',
    ],
    [
      'a preference that is no trait',
      [{ ...fpga, 'accel:preferred:resources:PGPU': '1' }],
      [],
      'only a trait can be preferred',
    ],
    [
      'a trait that is required and preferred',
      [{ ...fpga, 'trait:CUSTOM_A': 'required', 'accel:preferred:trait:custom-a': 'forbidden' }],
      [],
      'both states and prefers trait:CUSTOM_A',
    ],
    [
      'a preference that changes the number of requests',
      [{ ...fpga, 'accel:preferred:trait:CUSTOM_FPGA_XILINX': 'required' }],
      [],
      'decides how many accelerators there are',
    ],
  ])('with %s are refused', (_case, groups, alternatives, sentence) => {
    const given = [groups, alternatives] as Parameters<typeof canonicalLists>;
    expect(() => canonicalLists(...given)).toThrow(sentence);
  });

  it('are in order, each with its preferred traits and without', () => {
    const preferring = { ...fpga, 'accel:preferred:trait:CUSTOM_A': 'required' };
    const written = canonicalLists([preferring], [[pgpu]]);
    expect(groupLists(written)).toEqual([
      [{ ...fpga, 'trait:CUSTOM_A': 'required' }],
      [fpga],
      [pgpu],
    ]);
  });
});

it('lists of one profile that ask for the same class compete', () => {
  const lists = [[fpga], [pgpu], [fpga, pgpu]];
  expect([0, 1, 2].map((index) => competingWith(lists, index))).toEqual([
    [0, 2],
    [1, 2],
    [0, 1, 2],
  ]);
});

describe('the servers that candidates have room for', () => {
  const providers = new Map([
    ['a', { rootUuid: 'host-1', free: { FPGA: 5, PGPU: 0 } }],
    ['b', { rootUuid: 'host-1', free: { PGPU: 3 } }],
    ['c', { rootUuid: 'host-2', free: { FPGA: 1 } }],
  ]);
  it.each<[string, readonly Record<string, string>[], string[][], number]>([
    ['one group', [fpga], [['a'], ['c']], 6],
    ['two units', [{ 'resources:FPGA': '2' }], [['a']], 2],
    ['two groups of two classes on one host', [fpga, pgpu], [['a', 'b']], 3],
    ['two groups of one provider', [fpga, fpga], [['a', 'a']], 2],
    ['units that must be together', [{ 'resources:FPGA': '2', 'accel:same': 'numa' }], [['a']], 1],
    ['no candidate', [fpga], [], 0],
  ])('%s', (_case, groups, choices, servers) => {
    expect(countServers(groups, { choices, providers })).toBe(servers);
  });
});

describe('promises', () => {
  const nowMs = 10_000_000;
  const some = (given: Partial<AlternativePromises>): AlternativePromises => ({
    free: 0,
    room: 0,
    given: 0,
    closed: 0,
    ...given,
  });
  const read = (given: Partial<AlternativePromises>, countedAt = nowMs - 6000): Promises => ({
    countedAt,
    alternatives: [some(given)],
    marks: [],
  });

  it('leave all that Placement has at the first count', () => {
    expect(countedAgain([8], noPromises, nowMs)).toEqual({
      countedAt: nowMs,
      alternatives: [{ free: 8, room: 8, closed: 0 }],
      marks: [],
    });
  });

  it.each<[string, number, number, number]>([
    ['all open ones are counted by Placement', 5, 5, 5],
    ['none of them is', 8, 5, 5],
    ['some are', 6, 5, 5],
    ['another profile took one, too', 4, 5, 1],
    ['units came back', 10, 5, 7],
  ])('leave, where %s, the right number', (_case, free, left, result) => {
    const { alternatives } = countedAgain(
      [free],
      read({ room: 20 + left, given: 20, closed: 17 }),
      nowMs,
    );
    expect(alternatives[0]).toEqual({ free, room: 20 + result, closed: 17 });
  });

  it('that no bind keeps are closed after a minute', () => {
    let promises = read({ room: 8, given: 4 }, nowMs);
    const at = (seconds: number) => {
      const counted = countedAgain([8], promises, nowMs + seconds * 1000);
      const alternatives = counted.alternatives.map((each) => ({ ...each, given: 4 }));
      promises = { ...counted, alternatives };
      return (alternatives[0]?.room ?? 0) - 4;
    };
    // Four of eight, until the four are old.
    expect([6, 30, 60].map(at)).toEqual([4, 4, 4]);
    expect([66, 72].map(at)).toEqual([8, 8]);
    for (let seconds = 73; seconds < 400; seconds += 1) at(seconds);
    expect(promises.marks.length).toBeLessThan(15);
  });

  it('that were given before a long pause are closed at once', () => {
    const { alternatives } = countedAgain([8], read({ room: 8, given: 4 }, nowMs - 75_000), nowMs);
    expect(alternatives[0]).toEqual({ free: 8, room: 12, closed: 4 });
  });

  it.each<[string, Partial<AlternativePromises>[], number[], object]>([
    ['the first with room', [{ room: 1 }, { room: 1 }], [0, 1], { index: 0, hasRoom: true }],
    ['the next', [{ room: 1, given: 1 }, { room: 1 }], [0, 1], { index: 1, hasRoom: true }],
    ['none that is not allowed', [{ room: 1 }, { room: 1 }], [1], { index: 1, hasRoom: true }],
    ['any of which all is promised', [{}, { free: 2 }], [0, 1], { index: 1, hasRoom: false }],
    ['the first of none', [{}, {}], [0, 1], { index: 0, hasRoom: false }],
  ])('choose %s', (_case, alternatives, allowed, best) => {
    const promises = { ...noPromises, countedAt: nowMs, alternatives: alternatives.map(some) };
    expect(bestAlternative(promises, allowed)).toEqual(best);
  });
});
