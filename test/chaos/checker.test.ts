// The checker finds each way in which a cloud can disagree with itself.

import { expect, it } from 'vitest';
import { differences, type Outside, type Stored, violations } from './checker.ts';

type Row = Record<string, unknown>;

const handle = (uuid: string, claim: Row = {}): Row => ({
  pk: 'RP#card',
  sk: `HANDLE#${uuid}`,
  type: 'MDEV',
  ...claim,
});
const held = { arq_uuid: 'arq-1', instance_uuid: 'vm-1' };
const arq: Row = { pk: 'ARQ#arq-1', state: 'Bound', handle_uuid: 'h1' };
const record = (at: string, kind: string, claim = 'h1 arq-1'): Row => {
  const [handle_uuid, arq_uuid] = claim.split(' ');
  return { pk: 'DAY#2026-07-01#0', sk: `${at}#id`, kind, handle_uuid, arq_uuid };
};

const stored: Stored = {
  arqs: [arq, { pk: 'INSTANCE#vm-1' }],
  inventory: [handle('h1', held), handle('h2')],
  history: [
    record('t1', 'handle.claimed', 'h1 arq-0'),
    record('t2', 'handle.released', 'h1 arq-0'),
    record('t3', 'handle.claimed'),
  ],
};
const outside: Outside = {
  servers: ['vm-1'],
  consumers: ['vm-1'],
  mdevs: ['h1'],
  used: new Map([['card', 1]]),
  reserved: new Map(),
};

it('finds nothing where all agree', () => {
  expect(differences(stored, outside)).toEqual([]);
  const left = [
    { pk: 'ARQ#arq-2', state: 'Initial', due_at: 't4' },
    { pk: 'ARQ#arq-3', is_barred: true, expires_at: 1 },
  ];
  expect(differences({ ...stored, arqs: [...stored.arqs, ...left] }, outside)).toEqual([]);
});

it.each<[string, Partial<Stored>, Partial<Outside>]>([
  [
    'is held by vm-1 and vm-2',
    {
      inventory: ['1', '2'].map((number) =>
        handle(`h${number}`, {
          arq_uuid: `arq-${number}`,
          instance_uuid: `vm-${number}`,
          locality: { set: '101' },
        }),
      ),
    },
    {},
  ],
  ['has two attach handles', { inventory: [handle('h1', held), handle('h2', held)] }, {}],
  ['pairs of ARQ and attach handle', { arqs: [{ pk: 'INSTANCE#vm-1' }] }, {}],
  ['servers of Nova and instances', { arqs: [arq] }, {}],
  ['instances and holders of handles', { inventory: [handle('h1')] }, {}],
  ['servers of Nova and consumers', {}, { consumers: [] }],
  ['is BindFailed', { arqs: [...stored.arqs, { pk: 'ARQ#arq-2', state: 'BindFailed' }] }, {}],
  ['is Initial', { arqs: [...stored.arqs, { pk: 'ARQ#arq-2', state: 'Initial' }] }, {}],
  ['is not finished', { arqs: [...stored.arqs, { pk: 'RELEASE#r' }] }, {}],
  ['is withheld', { inventory: [handle('h1', held), handle('h2', { release_id: 'r' })] }, {}],
  ['units in use', {}, { used: new Map([['card', 2]]) }],
  ['reserved', {}, { reserved: new Map([['card', 1]]) }],
  ['mdevs of the hosts', {}, { mdevs: ['h1', 'h9'] }],
  ['twice', { history: [...stored.history, record('t4', 'handle.claimed')] }, {}],
  ['claims of the history', { history: stored.history.slice(0, 2) }, {}],
  [
    'overlap',
    {
      history: [
        stored.history[0],
        record('t5', 'handle.released', 'h1 arq-0'),
        stored.history[2],
      ] as Row[],
    },
    {},
  ],
])('finds what %s', (found, tables, world) => {
  const named = differences({ ...stored, ...tables }, { ...outside, ...world });
  expect(named.join('\n')).toContain(found);
});

it('needs no quiet to see two handles with one uuid', () => {
  const inventory = [handle('h1', {}), { ...handle('h1', {}), pk: 'RP#other' }];
  expect(violations({ ...stored, inventory })).toEqual(['Two attach handles have the uuid h1.']);
});

it('needs no quiet to see an ARQ with two handles', () => {
  const inventory = [handle('h1', held), handle('h2', held)];
  expect(violations({ ...stored, inventory })).toHaveLength(1);
});
