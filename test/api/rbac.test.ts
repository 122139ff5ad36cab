// Rights by route and persona, with and without a service token.

import { describe, expect, it } from 'vitest';
import { everythingStored } from '#test/support/stored/tables.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { authorization, rightsOf } from './authorization.ts';

const none = '99999999-0000-4000-8000-000000000009';

const personas = {
  anonymous: null,
  expired: 'expired-token',
  system: 'system-admin-token',
  unscoped: 'unscoped-token',
  reader: 'reader-token',
  member: 'demo-token',
  manager: 'manager-token',
  admin: 'admin-token',
  // The role `service` alone.
  service: 'telemetry-token',
  other: 'alt-token',
} as const;
type Persona = keyof typeof personas;

/** y: passes authorization. -: 401 for its token. n: 403, also for a token without a project. */
function rightOf(route: string, persona: Persona): string {
  if (persona === 'anonymous' || persona === 'expired') return '-';
  if (persona === 'system' || persona === 'unscoped') return 'n';
  // A member of another project has a member's rights there.
  const { own } = rightsOf(route, persona === 'other' ? 'member' : persona);
  return own === 'n' ? 'n' : 'y';
}

const world = perFile(startWorld);
const cells = Object.keys(authorization).flatMap((route) =>
  (Object.keys(personas) as Persona[]).flatMap((persona) =>
    [undefined, 'nova-token', 'alt-token'].map(
      (serviceToken) => [route, persona, serviceToken, rightOf(route, persona)] as const,
    ),
  ),
);

/**
 * Authorization comes before any look-up: nothing in here exists, so no cell can pass by chance.
 */
describe('by route, persona and service token', () => {
  it.each(cells)('%s as %s, service token %s: %s', async (route, persona, serviceToken, wanted) => {
    const [method = '', path = ''] = route.split(' ');
    const answer = await world.ask(method, path.replaceAll('{id}', none), {
      token: personas[persona],
      microversion: 'accelerator 2.3',
      ...(serviceToken && { serviceToken }),
      ...(['POST', 'PUT', 'PATCH'].includes(method) && { body: 'neither this nor that' }),
    });
    expect(outcomeOf(answer.status, answer.json)).toBe(
      expectedOutcome(persona, serviceToken, wanted, rightOf(route, 'member')),
    );
  });

  it('the refused requests have stored nothing', async () => {
    expect(await everythingStored()).toEqual([]);
  });
});

function outcomeOf(status: number, body: { error?: unknown } | undefined): string {
  if (status === 401) return '-';
  // Authorized requests may still need a service token, which depends on the ARQ's state.
  const isPolicy = String(body?.error).match(/Policy does not allow|not scoped to a project/);
  if (status === 403 && isPolicy) return 'n';
  expect(status).toBeLessThan(500);
  return 'y';
}

function expectedOutcome(
  persona: Persona,
  serviceToken: string | undefined,
  wanted: string,
  member: string,
): string {
  // A service token without the role is a bad token, in any request.
  if (serviceToken === 'alt-token') return '-';
  // While a service vouches for it, an expired token has its rights: a member's.
  if (persona === 'expired' && serviceToken === 'nova-token') return member;
  return wanted;
}

describe("CVE-2026-40213: a tenant has no operator's rights", () => {
  it.each([
    ['GET', '/v2/devices'],
    ['GET', '/v2/deployables'],
    ['GET', '/v2/attributes'],
    ['POST', '/v2/attributes'],
    ['PATCH', `/v2/deployables/${none}/program`],
    ['POST', `/v2/devices/${none}/disable`],
  ])('%s %s', async (method, path) => {
    const answer = await world.ask(method, path, { token: 'demo-token' });
    expect(answer.status).toBe(403);
  });
});

describe('a policy of the deployment', () => {
  it('grants a route to the named roles only', async () => {
    const { createDeps } = await import('#core/deps.ts');
    const { resourceHandler } = await import('#functions/http/resource-handler.ts');
    const { actions } = await import('#functions/devices/handler.ts');
    const { eventOf } = await import('#test/support/aws/lambda/http-event.ts');
    const own = { CYBORG_POLICY: '{"cyborg:device:get_all": ["reader"]}' };
    const handler = resourceHandler('devices', actions, () =>
      createDeps('devices', { ...process.env, ...own }),
    );
    const statusFor = async (token: string, method = 'GET', path = '/v2/devices') =>
      (await handler(eventOf(method, path, { 'x-auth-token': token }), {} as never)).statusCode;
    expect(await statusFor('reader-token')).toBe(200);
    // The roles of the rule are those named: Keystone gives an admin the role of a reader by
    // implication.
    expect(await statusFor('admin-token')).toBe(200);
    expect(await statusFor('telemetry-token')).toBe(403);
    expect(await statusFor('demo-token', 'POST', `/v2/devices/${none}/enable`)).toBe(403);
  });
});
