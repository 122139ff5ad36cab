// Authentication: tokens as keystonemiddleware treats them.

import { describe, expect, it } from 'vitest';
import { refused } from '#test/support/refusals.ts';
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
