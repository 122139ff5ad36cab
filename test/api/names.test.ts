// Names of servers, projects and users, with the rights of the caller's token.

import { beforeAll, expect, it } from 'vitest';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
const [demo, alt] = (['demo', 'alt'] as const).map((name) => idOf('project', name));
const user = idOf('user', 'demo');
const none = '99999999-0000-4000-8000-000000000009';

const names = async (query: string, token = 'admin-token') => {
  const { status, json } = await world.ask('GET', `/operator/v1/names${query}`, { token });
  return { status, error: json.error, names: json };
};

beforeAll(() => world.startComputeNode('cmp1'));

it('shows an administrator the names of all projects and users, and of no other id', async () => {
  const query = `?projects=${demo},${alt},${none}&users=${user}&servers=${none}`;
  expect((await names(query)).names).toEqual({
    servers: {},
    projects: { [String(demo)]: 'demo', [String(alt)]: 'alt' },
    users: { [user]: 'demo' },
  });
});

it('shows a tenant its own project only, also after an administrator has asked', async () => {
  const query = `?projects=${demo},${alt}&users=${user}`;
  expect((await names(query, 'demo-token')).names).toEqual({
    servers: {},
    projects: { [String(demo)]: 'demo' },
    users: { [user]: 'demo' },
  });
});

it('answers without ids, and without names', async () => {
  const empty = { servers: {}, projects: {}, users: {} };
  expect(await names('')).toMatchObject({ status: 200, names: empty });
});

it.each([
  ['?servers=', 'servers'],
  ['?servers=a/../b', 'servers: must be ids'],
  [`?projects=${Array.from({ length: 51 }, (_, each) => `p${each}`).join()}`, 'at most 50'],
  ['?hosts=cmp1', 'hosts'],
])('%s: 400', async (query, error) => {
  expect(await names(query)).toMatchObject({
    status: 400,
    error: expect.stringContaining(error),
  });
});
