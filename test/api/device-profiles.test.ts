// The routes of device profiles speak two dialects; the form of a request says which.

import { beforeAll, describe, expect, it } from 'vitest';
import { refused, sentenceOf } from '#test/support/stored/refusals.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';

const missing = '99999999-0000-4000-8000-000000000009';
const world = perFile(startWorld);

beforeAll(() => world.createProfile('fpga', { 'resources:FPGA': '1' }));

describe('device profiles answer in the dialect of the request', () => {
  const fpga = [{ 'resources:FPGA': '1' }];
  const unknown = [{ a: '1' }];
  const long = 'x'.repeat(3000);
  const list = (name: string, groups: object[] = fpga) => ({ body: [{ name, groups }] });
  const object = (name: string, groups: object[] = fpga) => ({ body: { name, groups } });
  const user = { token: 'demo-token', ...list('x') };
  const at = (microversion: string): Ask => ({ microversion });

  it.each<[request: string, ask: Ask, status: number, sentence: string]>([
    ['POST', list('fpga'), 409, 'name fpga exists'],
    ['POST', object('fpga'), 422, 'name fpga exists'],
    ['POST', list('x', unknown), 400, 'groups[0]'],
    ['POST', object('x', unknown), 422, 'groups[0]'],
    ['POST', list(''), 400, 'name'],
    ['POST', list('x'.repeat(256)), 400, '255'],
    ['POST', list('x', []), 400, 'at least one group'],
    ['POST', { body: '"x"' }, 422, 'device profile'],
    ['DELETE /nope', {}, 404, 'nope'],
    ['DELETE ?value=fpga,nope', {}, 404, 'nope'],
    ['DELETE ?name=fpga,nope', {}, 422, 'nope'],
    ['DELETE', {}, 400, '?name= or ?value='],
    ['DELETE /,', {}, 400, 'No device profile is named'],
    [`DELETE /${long}`, {}, 404, 'not found'],
    [`GET ?name=${long}`, {}, 422, 'exists'],
    [`GET /${missing}`, {}, 422, missing],
    [`GET /${missing}`, at('accelerator 2.1'), 404, missing],
    ['GET ?name=nope', {}, 422, 'nope'],
    ['GET /nope', {}, 422, 'nope'],
    ['GET /nope', at('2.1'), 404, 'nope'],
    ['POST', user, 401, 'cyborg:device_profile:create'],
    ['POST', { ...user, ...at('2.1') }, 403, 'cyborg:device_profile:create'],
  ])('%s %j: %i', async (request, ask, status, sentence) => {
    const [method = '', path = ''] = request.split(' ');
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
