// docs/api-differences.md has the answers that tempest's requests get.

import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';

const page = readFileSync(new URL('../../docs/api-differences.md', import.meta.url), 'utf8');

/** test → what it expects, and the status here */
const rows = [...page.matchAll(/^\| `(test_\w+)` \| (5xx|\d{3}).*? \| (\d{3})/gm)].map(
  ([, name = '', expected = '', status = '']) => ({ name, expected, status: Number(status) }),
);

const uuid = '88888888-0000-4000-8000-000000000008';
const path = '/v2/device_profiles';
const groups = [{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }];
const creating = (profile: object): [string, string, Ask] => [
  'POST',
  path,
  { body: [{ groups, ...profile }] },
];

/** The request of each test that tempest expects to fail; tempest sends no microversion. */
const requests: Readonly<Record<string, [string, string, Ask]>> = {
  test_create_device_profile_server_fault: creating({ name: 'new-fpga', uuid }),
  test_create_device_profile_name_is_null: creating({ name: '' }),
  test_create_device_profile_name_to_long: creating({ name: 'a'.repeat(256) }),
  test_get_non_existent_device_profile: ['GET', `${path}/99999999-0000-4000-8000-000000000009`, {}],
};

const world = perFile(startWorld);

beforeAll(() => world.ask('POST', path, { body: [{ name: 'fpga_uuid_test', uuid, groups }] }));
it('names all four tests', () => {
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(requests));
});

it.each(rows)('$name expects $expected, and is answered $status', async (row) => {
  const [method, where, ask] = requests[row.name] ?? creating({});
  const { status } = await world.ask(method, where, ask);
  expect(status).toBe(row.status);
  expect(row.expected === '5xx' ? status < 500 : status !== Number(row.expected)).toBe(true);
});

it('passes the fourth from microversion 2.1 on', async () => {
  const [method, where] = requests.test_get_non_existent_device_profile ?? creating({});
  const headers = { 'OpenStack-API-Version': 'accelerator 2.1' };
  expect((await world.ask(method, where, { headers })).status).toBe(404);
});
