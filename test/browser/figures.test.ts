// Figures that were not counted are no figures.

import { expect, it } from 'vitest';
import { type Figures, refuseUncounted } from './large.ts';

const times = [10, 20, 30];
const kinds = Array.from({ length: 10 }, (_, at) => `kind ${at}`);

function figures(given: Partial<Figures> = {}): Figures {
  return {
    firstViews: new Map([
      ['Overview', times],
      ['Hosts', times],
      ['Fleet', times],
    ]),
    interactions: new Map(kinds.map((kind) => [kind, times])),
    heapBytes: [1024],
    transferredBytes: [1024],
    ...given,
  };
}

it('are accepted when each was counted', () => {
  expect(() => refuseUncounted(figures())).not.toThrow();
});

it.each([
  ['first view', { firstViews: new Map([['Hosts', times]]) }],
  ['Only 1 kinds', { interactions: new Map([['kind 0', times]]) }],
  ['kind 9', { interactions: new Map([...kinds.map((k) => [k, times] as const), ['kind 9', []]]) }],
  ['Hosts', { firstViews: new Map([...figures().firstViews, ['Hosts', [0, 0, 0]]]) }],
  ['heap', { heapBytes: [] }],
  ['Nothing was transferred', { transferredBytes: [0] }],
])('are refused where something was not counted: %s', (named, given) => {
  expect(() => refuseUncounted(figures(given))).toThrow(named);
});
