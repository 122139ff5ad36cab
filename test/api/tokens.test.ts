// Authentication: tokens as keystonemiddleware treats them.

import { describe, expect, it } from 'vitest';
import { refused } from '#test/support/stored/refusals.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';

const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const arqs = '/v2/accelerator_requests';
const world = perFile(startWorld);

describe('tokens', () => {
  it.each<[string, Ask]>([
    ['no token', { token: null }],
    ['an unknown token', { token: 'nope' }],
    ['an expired token', { token: 'expired-token' }],
    ['an unknown service token', { token: 'demo-token', serviceToken: 'nope' }],
    ['a service token without the role', { token: 'demo-token', serviceToken: 'alt-token' }],
  ])('%s is refused as keystonemiddleware refuses it', async (_name, ask) => {
    const answer = await refused(world, 'GET', '/v2/devices/no/such/path', ask);
    expect(answer.status).toBe(401);
    expect(answer.json).toEqual({
      error: { code: 401, title: 'Unauthorized', message: expect.any(String) },
    });
    expect(answer.headers.get('www-authenticate')).toBe(`Keystone uri="${world.urls.keystone}"`);
  });

  it.each<[string, string, Ask, number]>([
    ['GET', `/accelerator${arqs}`, {}, 200],
    ['GET', `/accelerator/v2/device_profiles/${instance}`, {}, 422],
    ['GET', '/accelerator/v2/devices', {}, 401],
    ['GET', `/accelerator${arqs}/`, {}, 401],
    ['GET', arqs, {}, 401],
    ['DELETE', `/accelerator${arqs}?arqs=${instance}`, {}, 401],
    // A service vouches for the call, so no rule is looked at.
    ['GET', '/accelerator/v2/device_profiles', { serviceToken: 'nova-token' }, 200],
    ['GET', '/accelerator/v2/devices', { serviceToken: 'nova-token' }, 403],
    ['GET', `/accelerator${arqs}`, { serviceToken: 'alt-token' }, 401],
    ['GET', `/accelerator${arqs}`, { serviceToken: 'expired-token' }, 401],
    ['GET', `/accelerator${arqs}`, { headers: { 'X-Service-Token': '' } }, 200],
    ['GET', '/accelerator/v2/devices', { headers: { 'X-Service-Token': '' } }, 401],
  ])(
    'of a credential with access rules may %s %s with %j: %i',
    async (method, path, ask, status) => {
      const answer = await world.ask(method, path, { token: 'limited-token', ...ask });
      expect(answer.status).toBe(status);
    },
  );

  it('a call that no access rule allows is named', async () => {
    const answer = await refused(world, 'GET', '/v2/devices', { token: 'limited-token' });
    expect(answer.json.error).toMatchObject({
      code: 401,
      message: 'The access rules of the application credential do not allow GET /v2/devices.',
    });
  });

  it.each<[string, Ask]>([
    ['token', { token: 'g'.repeat(10_241) }],
    ['service token', { headers: { 'X-Service-Token': 'g'.repeat(10_241) } }],
  ])('a %s longer than a header may be is refused with its length', async (subject, ask) => {
    const answer = await refused(world, 'GET', '/v2/devices', ask);
    expect(answer.status).toBe(401);
    const message = `The ${subject} has 10241 characters; at most 10240 are allowed.`;
    expect(answer.json.error).toMatchObject({ message });
  });

  it('an empty service token is none', async () => {
    const headers = { 'X-Service-Token': '' };
    expect((await world.ask('GET', '/v2/devices', { headers })).status).toBe(200);
    const answer = await world.ask('GET', arqs, { token: 'expired-token', headers });
    expect(answer.status).toBe(401);
  });

  it.each([
    { 'X-Storage-Token': 'demo-token' },
    { 'X-Auth-Token': '"demo-token"', 'X-Storage-Token': 'nope' },
  ])('may come in the headers %j, as at Nova', async (headers) => {
    expect((await world.ask('GET', arqs, { token: null, headers })).status).toBe(200);
    const names = await world.ask('GET', '/operator/v1/names?users=x', { token: null, headers });
    expect(names.status).toBe(200);
  });

  it.each([
    { 'X-Auth-Token': '', 'X-Storage-Token': 'demo-token' },
    { 'X-Auth-Token': 'nope', 'X-Storage-Token': 'demo-token' },
  ])('in the headers %j is refused', async (headers) => {
    expect((await world.ask('GET', arqs, { token: null, headers })).status).toBe(401);
  });

  it('any token is answered 404 for a path of no resource, and none 401', async () => {
    const path = '/v2/no/such/path';
    expect((await world.ask('GET', path, { token: 'nope' })).status).toBe(404);
    expect((await world.ask('GET', path, { token: null })).status).toBe(401);
  });

  it('an expired token is accepted while Nova vouches for it', async () => {
    const ask = { token: 'expired-token', serviceToken: 'nova-token' };
    expect((await world.ask('GET', `${arqs}?instance=${instance}`, ask)).status).toBe(200);
  });
});

describe('without a token', () => {
  it('the version documents are open, in the form that keystoneauth reads', async () => {
    const root = await world.ask('GET', '/', { token: null });
    const link = { href: `${world.apiUrl}/accelerator/v2`, rel: 'self' };
    const current = {
      id: 'v2.0',
      status: 'CURRENT',
      version: '2.0',
      min_version: '2.0',
      max_version: '2.3',
      links: [link],
    };
    const first = {
      id: 'v1',
      status: 'DEPRECATED',
      version: '1.0',
      links: [{ href: `${world.apiUrl}/accelerator/v1`, rel: 'self' }],
    };
    expect(root).toMatchObject({ status: 200, json: { versions: [first, current] } });
    expect((await world.ask('GET', '/accelerator', { token: null })).json).toEqual(root.json);
    const v2 = await world.ask('GET', '/accelerator/v2', { token: null });
    expect(v2.json).toEqual({ ...current, versions: [current] });
    expect(v2.headers.get('openstack-api-version')).toBe('accelerator 2.0');
    expect(v2.headers.get('openstack-api-maximum-version')).toBe('2.3');
  });
});
