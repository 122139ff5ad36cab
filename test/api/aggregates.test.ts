// Nova's host aggregates, with the rights of the caller's token.

import { beforeAll, expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const rule = 'cyborg:operator:host:get_all';
const world = perFile(() =>
  startWorld({ settings: { CYBORG_POLICY: JSON.stringify({ [rule]: ['admin', 'manager'] }) } }),
);
const operator = operatorsApi(world);

async function nova(path: string, body: unknown) {
  const answer = await fetch(world.urls.nova + path, {
    method: 'POST',
    headers: { 'X-Auth-Token': 'admin-token', 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
}

const aggregates = async (token: string) => {
  const { status, json } = await operator('GET', '/aggregates', { token });
  return [status, json.aggregates];
};

beforeAll(async () => {
  await nova('/os-aggregates', { aggregate: { name: 'rack1', availability_zone: 'az1' } });
  await nova('/os-aggregates/1/action', { add_host: { host: 'cmp1' } });
});

it('are empty for an operator to whom Nova refuses them', async () => {
  expect(await aggregates('manager-token')).toEqual([200, []]);
});

it('have the zone and the hosts for an administrator, and are kept for a while', async () => {
  const rack1 = { name: 'rack1', availability_zone: 'az1', hosts: ['cmp1'] };
  expect(await aggregates('admin-token')).toEqual([200, [rack1]]);
  await nova('/os-aggregates', { aggregate: { name: 'rack2' } });
  expect(await aggregates('admin-token')).toEqual([200, [rack1]]);
  // What an administrator has seen is shown to no other user.
  expect(await aggregates('manager-token')).toEqual([200, []]);
});

it('are refused without the role, and with a query', async () => {
  expect((await operator('GET', '/aggregates', { token: 'demo-token' })).status).toBe(403);
  expect((await operator('GET', '/aggregates?host=cmp1')).status).toBe(400);
});
