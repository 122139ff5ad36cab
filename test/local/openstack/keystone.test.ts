import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { effectiveRoles, idOf, password, staticTokens } from '#local/openstack/keystone/catalog.ts';
import { type FakeKeystone, startKeystone } from '#local/openstack/keystone/keystone.ts';
import { directoryPerFile, perFile } from '#test/support/vitest/shared.ts';

const directory = directoryPerFile();
const keystone = perFile(start);

beforeAll(() => keystone.announce('compute', 'http://nova.test/v2.1'));
describe('a login', () => {
  it('returns a token in the header and its scope and roles in the body', async () => {
    const response = await logIn({ name: 'cyborg', project: 'service' });
    expect(response.status).toBe(201);
    const token = response.headers.get('X-Subject-Token') ?? '';
    expect((await show(token, 'admin-token')).status).toBe(200);
    const { token: body } = tokenBody.parse(await response.json());
    expect(body.project).toEqual({
      id: idOf('project', 'service'),
      name: 'service',
      domain: { id: 'default', name: 'Default' },
    });
    const types = body.catalog?.map(({ type }) => type);
    expect(types).toEqual(['identity', 'compute']);
  });

  it.each([
    { wrong: 'password', name: 'demo', project: 'demo', secret: 'guess' },
    { wrong: 'user', name: 'unknown', project: 'demo' },
    { wrong: 'project', name: 'demo', project: 'alt' },
  ])('with a wrong $wrong does not tell which part is wrong', async (login) => {
    const response = await logIn(login);
    expect(response.status).toBe(401);
    expect(response.headers.get('WWW-Authenticate')).toBe(`Keystone uri="${keystone.url}"`);
    expect(await response.json()).toEqual({
      error: {
        code: 401,
        message: 'The request you have made requires authentication.',
        title: 'Unauthorized',
      },
    });
  });

  it('without a scope gets the default project of the user', async () => {
    const demo = tokenBody.parse(await (await logIn({ name: 'demo' })).json());
    const admin = tokenBody.parse(await (await logIn({ name: 'admin' })).json());
    expect(demo.token.project?.name).toBe('demo');
    expect(admin.token).not.toHaveProperty('project');
    expect(admin.token).not.toHaveProperty('catalog');
  });

  it('accepts a token instead of a password', async () => {
    const identity = { methods: ['token'], token: { id: 'demo-token' } };
    const response = await post({ auth: { identity, scope: 'unscoped' } });
    expect(response.status).toBe(201);
  });

  it('with an invalid body is refused', async () => {
    expect((await post({ x: 1 })).status).toBe(400);
  });
});

describe('a token', () => {
  it.each(Object.keys(staticTokens))('%s is shown to services', async (token) => {
    expect((await show(token, 'nova-token', '&allow_expired=1')).status).toBe(200);
  });

  it('with access rules is not shown to a service that does not know them', async () => {
    expect((await show('limited-token', 'nova-token', '', {})).status).toBe(404);
  });

  it('that has expired is found only with allow_expired', async () => {
    expect((await show('expired-token', 'nova-token')).status).toBe(404);
    expect((await show('expired-token', 'nova-token', '&allow_expired=1')).status).toBe(200);
  });

  it('is shown to its owner, not to other users', async () => {
    expect((await show('demo-token', 'demo-token')).status).toBe(200);
    expect((await show('reader-token', 'demo-token')).status).toBe(403);
  });

  it('is not shown to an unknown caller, and an unknown token is not found', async () => {
    expect((await show('demo-token', 'nonsense')).status).toBe(401);
    expect((await show('nonsense', 'nova-token')).status).toBe(404);
  });

  it('is gone after its revocation, even with allow_expired', async () => {
    const token = (await logIn({ name: 'demo' })).headers.get('X-Subject-Token') ?? '';
    const headers = { 'X-Auth-Token': token, 'X-Subject-Token': token };
    const revoked = await fetch(`${keystone.url}/auth/tokens`, { method: 'DELETE', headers });
    expect(revoked.status).toBe(204);
    expect((await show(token, 'nova-token', '&allow_expired=1')).status).toBe(404);
  });

  it('survives a restart', async () => {
    const token = (await logIn({ name: 'demo' })).headers.get('X-Subject-Token') ?? '';
    const restarted = await start();
    const headers = { 'X-Auth-Token': token, 'X-Subject-Token': token };
    const shown = await fetch(`${restarted.url}/auth/tokens`, { headers });
    expect(shown.status).toBe(200);
    await restarted.stop();
  });
});

it('implies roles as a bootstrapped Keystone does', () => {
  expect(effectiveRoles(['admin'])).toEqual(['admin', 'manager', 'member', 'reader']);
  expect(effectiveRoles(['manager'])).toEqual(['manager', 'member', 'reader']);
  expect(effectiveRoles(['service'])).toEqual(['service']);
});

it('has version documents for clients that discover', async () => {
  const base = keystone.url.replace(/\/v3$/, '');
  expect((await fetch(`${base}/`)).status).toBe(300);
  expect((await fetch(`${base}/v3/`)).status).toBe(200);
});

const tokenBody = z.object({
  token: z.looseObject({
    project: z.looseObject({ name: z.string() }).optional(),
    catalog: z.array(z.object({ type: z.string() })).optional(),
  }),
});

function start(): Promise<FakeKeystone> {
  return startKeystone({ host: '127.0.0.1', port: 0, stateFile: join(directory, 'state.json') });
}

function post(body: unknown): Promise<Response> {
  return fetch(`${keystone.url}/auth/tokens`, { method: 'POST', body: JSON.stringify(body) });
}

function logIn(login: { readonly name: string; project?: string; secret?: string }) {
  const { name, project, secret = password } = login;
  const domain = { name: 'Default' };
  const identity = {
    methods: ['password'],
    password: { user: { name, domain, password: secret } },
  };
  return post({
    auth: { identity, ...(project && { scope: { project: { name: project, domain } } }) },
  });
}

const knowsAccessRules = { 'OpenStack-Identity-Access-Rules': '1.0' };

function show(token: string, by: string, more = '', about = knowsAccessRules as object) {
  const headers = { 'X-Auth-Token': by, 'X-Subject-Token': token, ...about };
  return fetch(`${keystone.url}/auth/tokens?nocatalog${more}`, { headers });
}
