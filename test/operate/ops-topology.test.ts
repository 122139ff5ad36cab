// `cyborg-ops hosts topology`: where the accelerators are, and who holds which.

import { expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { callOps, startFakeCloud } from './fake-operator-api.ts';

const cloud = perFile(startFakeCloud);

const unit = {
  attach_handle_uuid: 'h1',
  device_uuid: 'd1',
  device_address: 'hgx0',
  type: 'GPU',
  resource_class: 'PGPU',
  address: '0000:11:00.0',
  state: 'free',
  instance_uuid: null,
  project_id: null,
  numa: 0,
  root: '0000:10:01.0',
  switch: '0000:20:00.0',
  set: null,
};
const card = { ...unit, device_address: '0000:3b:00.0', numa: null, root: null, switch: null };
const functions = [1, 2, 3].map((fn) => ({
  ...card,
  attach_handle_uuid: `f${fn}`,
  address: `0000:3b:00.${fn}`,
}));

async function topology(units: readonly object[], pools: readonly object[] = []) {
  cloud.answer({ status: 200, body: { hostname: 'cmp1', units, pools } });
  const { out, exitCode } = await callOps(cloud, ['hosts', 'topology', 'cmp1']);
  return { exitCode, lines: out.trimEnd().split('\n') };
}

it('is a tree of places, with the server that holds a unit', async () => {
  const pair = { set: '0000:12:00.0' };
  const { lines, exitCode } = await topology([
    unit,
    {
      ...unit,
      attach_handle_uuid: 'h2',
      address: '0000:12:00.0',
      numa: 1,
      switch: null,
      state: 'claimed',
      instance_uuid: 's1',
      ...pair,
    },
  ]);
  expect(exitCode).toBe(0);
  expect(lines).toEqual([
    'NUMA node 0',
    '  root port 0000:10:01.0',
    '    switch 0000:20:00.0',
    '      0000:11:00.0  of hgx0  PGPU  free',
    'NUMA node 1',
    '  root port 0000:10:01.0',
    '    0000:12:00.0  of hgx0  PGPU  server s1  set 0000:12:00.0',
  ]);
  expect(cloud.asked.at(-1)?.path).toContain('/operator/v1/hosts/cmp1/topology');
});

it('is one line for units of a card that no server holds', async () => {
  const held = { ...card, attach_handle_uuid: 'f4', address: '0000:3b:00.4', instance_uuid: 's1' };
  expect((await topology([...functions, held])).lines).toEqual([
    '0000:3b:00.1  and 2 more  of 0000:3b:00.0  PGPU  free',
    '0000:3b:00.4  of 0000:3b:00.0  PGPU  server s1',
  ]);
});

it('lists the units of a place by their addresses', async () => {
  const held = (address: string) => ({ ...unit, address, instance_uuid: 's1' });
  const later = { ...held('0000:13:00.0'), attach_handle_uuid: 'h3' };
  const { lines } = await topology([
    later,
    unit,
    { ...held('0000:12:00.0'), attach_handle_uuid: 'h2' },
  ]);
  expect(lines.slice(3).map((line) => line.trim().split(' ')[0])).toEqual([
    '0000:11:00.0',
    '0000:12:00.0',
    '0000:13:00.0',
  ]);
});

it('says what a pool can give to one server', async () => {
  const together = { switch: 2, root: 2, numa: 3, board: 5 };
  const pool = { device_uuid: 'd1', device_address: 'hgx0', units: 8, free: 5, together };
  expect((await topology([], [pool])).lines.at(-1)).toBe(
    'pool hgx0: 5 of 8 units free; together at most 2 of one switch, 2 of one root, 3 of one numa, 5 of one board',
  );
});
