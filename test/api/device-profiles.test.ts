// The routes of device profiles speak two dialects; the form of a request says which.

import { beforeAll, describe, expect, it } from 'vitest';
import { refused, sentenceOf } from '#test/support/refusals.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';

const missing = '99999999-0000-4000-8000-000000000009';
const world = perFile(startWorld);

beforeAll(async () => {
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

describe('device profiles answer in the dialect of the request', () => {
  const group = [{ 'resources:FPGA': '1' }];
  const list = (profile: object) => ({ body: [profile] });
  const object = (profile: object) => ({ body: profile });

  it.each<[string, string, string, Ask, number, string]>([
    [
      'a taken name, as a list',
      'POST',
      '',
      list({ name: 'fpga', groups: group }),
      409,
      'name fpga exists',
    ],
    [
      'a taken name, as an object',
      'POST',
      '',
      object({ name: 'fpga', groups: group }),
      422,
      'name fpga exists',
    ],
    [
      'a bad group, as a list',
      'POST',
      '',
      list({ name: 'x', groups: [{ a: '1' }] }),
      400,
      'groups[0]',
    ],
    [
      'a bad group, as an object',
      'POST',
      '',
      object({ name: 'x', groups: [{ a: '1' }] }),
      422,
      'groups[0]',
    ],
    ['an empty name', 'POST', '', list({ name: '', groups: group }), 400, 'name'],
    [
      'a name that is too long',
      'POST',
      '',
      list({ name: 'x'.repeat(256), groups: group }),
      400,
      '255',
    ],
    ['no groups', 'POST', '', list({ name: 'x', groups: [] }), 400, 'at least one group'],
    ['a body that is not a profile', 'POST', '', { body: '"x"' }, 422, 'device profile'],
    ['an unknown profile deleted by path', 'DELETE', '/nope', {}, 404, 'nope'],
    ['an unknown profile deleted by value', 'DELETE', '?value=fpga,nope', {}, 404, 'nope'],
    ['an unknown profile deleted by name', 'DELETE', '?name=fpga,nope', {}, 422, 'nope'],
    ['nothing named', 'DELETE', '', {}, 400, '?name= or ?value='],
    ['a comma alone', 'DELETE', '/,', {}, 400, 'No device profile is named'],
    ['a name longer than a key', 'DELETE', `/${'x'.repeat(3000)}`, {}, 404, 'not found'],
    ['a query longer than a key', 'GET', `?name=${'x'.repeat(3000)}`, {}, 422, 'exists'],
    ['an unknown uuid at 2.0', 'GET', `/${missing}`, {}, 422, missing],
    [
      'an unknown uuid at 2.1',
      'GET',
      `/${missing}`,
      { microversion: 'accelerator 2.1' },
      404,
      missing,
    ],
    ['an unknown name in the query at 2.0', 'GET', '?name=nope', {}, 422, 'nope'],
    ['an unknown name in the path at 2.0', 'GET', '/nope', {}, 422, 'nope'],
    ['an unknown name in the path at 2.1', 'GET', '/nope', { microversion: '2.1' }, 404, 'nope'],
    [
      'a caller who is not admin at 2.0',
      'POST',
      '',
      { token: 'demo-token', ...list({ name: 'x', groups: group }) },
      401,
      'cyborg:device_profile:create',
    ],
    [
      'a caller who is not admin at 2.1',
      'POST',
      '',
      { token: 'demo-token', microversion: '2.1', ...list({ name: 'x', groups: group }) },
      403,
      'cyborg:device_profile:create',
    ],
  ])('%s', async (_name, method, path, ask, status, sentence) => {
    const answer = await refused(world, method, `/v2/device_profiles${path}`, ask);
    // Clients of keystonemiddleware ask for another token when this header is present.
    expect(answer.headers.has('www-authenticate')).toBe(status === 401);
    expect([answer.status, sentenceOf(answer)]).toEqual([
      status,
      expect.stringContaining(sentence),
    ]);
  });
});

describe('a device profile', () => {
  const groups = [{ 'resources:CUSTOM_A': '2' }, { 'resources:FPGA': '1' }];

  it('is created by an object, answered without a body, and stored', async () => {
    const body = { name: 'by-object', description: 'd', groups };
    expect(await world.ask('POST', '/v2/device_profiles', { body })).toMatchObject({
      status: 204,
      text: '',
    });
    const { json } = await world.ask('GET', '/v2/device_profiles?name=by-object');
    expect(json.device_profiles).toMatchObject([{ name: 'by-object', description: 'd', groups }]);
  });

  it('is created by a list, answered bare, and shown by uuid and by name', async () => {
    const created = await world.createProfile('by-list', ...groups);
    expect(created).toMatchObject({ status: 201, json: { name: 'by-list', description: null } });
    const { uuid } = created.json;
    expect(created.json.links).toEqual([
      { href: `${world.apiUrl}/accelerator/v2/device_profiles/${uuid}`, rel: 'self' },
    ]);
    const shown = await world.ask('GET', `/v2/device_profiles/${uuid}`);
    expect(shown.json).toEqual({ device_profile: created.json });
    const ask = { microversion: 'accelerator 2.2' };
    expect((await world.ask('GET', '/v2/device_profiles/by-list', ask)).json).toEqual(shown.json);
  });

  it('is listed in the order of the names in the query, without unknown names', async () => {
    const { json } = await world.ask('GET', '/v2/device_profiles?name=by-list,nope,fpga');
    expect(json.device_profiles.map(({ name }) => name)).toEqual(['by-list', 'fpga']);
  });

  it('is listed page by page', async () => {
    const names: string[] = [];
    let path = '/accelerator/v2/device_profiles?limit=2';
    for (;;) {
      const { json } = await world.ask('GET', path);
      names.push(...json.device_profiles.map(({ name }) => name));
      if (!json.device_profiles_links) break;
      path = json.device_profiles_links[0].href.slice(world.apiUrl.length);
    }
    expect(names).toEqual(['fpga', 'by-object', 'by-list']);
  });

  it('has a uuid of its own', async () => {
    const uuid = 'bbbbbbbb-0000-4000-8000-000000000001';
    const create = (name: string) =>
      world.ask('POST', '/v2/device_profiles', { body: [{ name, uuid, groups }] });
    expect((await create('uuid-1')).status).toBe(201);
    expect(await create('uuid-2')).toMatchObject({ status: 409 });
  });

  it('is deleted together with others or not at all', async () => {
    const { status } = await world.ask('DELETE', '/v2/device_profiles?value=by-list,uuid-1');
    expect(status).toBe(204);
    expect((await world.ask('DELETE', '/v2/device_profiles?name=by-object')).status).toBe(204);
    const { json } = await world.ask('GET', '/v2/device_profiles');
    expect(json.device_profiles.map(({ name }) => name)).toEqual(['fpga']);
  });
});
