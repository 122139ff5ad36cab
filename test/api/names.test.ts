// Names of servers, projects and users, with the rights of the caller's token.

import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
const [demo, alt] = (['demo', 'alt'] as const).map((name) => idOf('project', name));
const user = idOf('user', 'demo');
const none = '99999999-0000-4000-8000-000000000009';

const novaAnswer = z.object({
  server: z.object({ id: z.string() }).optional(),
  servers: z.array(z.unknown()).optional(),
});

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

describe('a server that was deleted', () => {
  const nova = async (method: string, path: string, body?: unknown, token = 'demo-token') => {
    const answer = await fetch(world.urls.nova + path, {
      method,
      headers: { 'X-Auth-Token': token, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return answer.status === 204 ? {} : novaAnswer.parse(await answer.json());
  };
  const boot = async (name: string) => {
    const { server } = await nova('POST', '/servers', { server: { name, flavorRef: 'plain' } });
    return server?.id ?? '';
  };
  let id: string;

  beforeAll(async () => {
    const flavor = { id: 'plain', name: 'plain', vcpus: 1, ram: 1, disk: 1 };
    await nova('POST', '/flavors', { flavor }, 'admin-token');
    id = await boot('vm-gone');
    await nova('DELETE', `/servers/${id}`);
    await eventually(async () => (await nova('GET', '/servers')).servers).toEqual([]);
  });

  it('has its last name for an administrator', async () => {
    const { names: all } = await names(`?servers=${id},${none}`);
    expect(all).toMatchObject({ servers: { [id]: 'vm-gone' } });
  });

  it('has no name for its project, whose other servers Nova lists instead', async () => {
    const other = await boot('vm-other');
    const { names: all } = await names(`?servers=${id},${other}`, 'demo-token');
    expect(all).toEqual({ servers: { [other]: 'vm-other' }, projects: {}, users: {} });
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
