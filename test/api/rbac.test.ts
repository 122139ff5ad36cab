// Rights by route and persona, with and without a service token. The expected answers are written
// out, not computed from the table under test.

import { describe, expect, it } from 'vitest';
import { routes } from '#functions/routes.ts';
import { everythingStored } from '#test/support/stored/tables.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const none = '99999999-0000-4000-8000-000000000009';

/** In the order of the columns below. */
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

// y: passes authorization. -: 401 for its token. n: 403.
const matrix: Readonly<Record<string, string>> = {
  //                                          anonymous … other
  'GET /v2/device_profiles': '--nnyyyyyy',
  'POST /v2/device_profiles': '--nnnnnynn',
  'DELETE /v2/device_profiles': '--nnnnnynn',
  'GET /v2/device_profiles/{id}': '--nnyyyyyy',
  'DELETE /v2/device_profiles/{id}': '--nnnnnynn',
  'GET /v2/accelerator_requests': '--nnyyyyyy',
  'POST /v2/accelerator_requests': '--nnnyyyyy',
  'PATCH /v2/accelerator_requests': '--nnnyyyyy',
  'DELETE /v2/accelerator_requests': '--nnnyyyyy',
  'GET /v2/accelerator_requests/{id}': '--nnyyyyyy',
  'PATCH /v2/accelerator_requests/{id}': '--nnnyyyyy',
  'DELETE /v2/accelerator_requests/{id}': '--nnnyyyyy',
  'GET /v2/devices': '--nnnnyynn',
  'GET /v2/devices/{id}': '--nnnnyynn',
  'PATCH /v2/devices/{id}': '--nnnnnynn',
  'POST /v2/devices/{id}/enable': '--nnnnnynn',
  'POST /v2/devices/{id}/disable': '--nnnnnynn',
  'POST /v2/devices/{id}/force_release': '--nnnnnynn',
  'GET /v2/deployables': '--nnnnyynn',
  'GET /v2/deployables/{id}': '--nnnnyynn',
  'PATCH /v2/deployables/{id}': '--nnnnnynn',
  'PATCH /v2/deployables/{id}/program': '--nnnnnynn',
  'PATCH /v2/deployables/{id}/program/{id}': '--nnnnnynn',
  'GET /v2/attributes': '--nnnnyynn',
  'POST /v2/attributes': '--nnnnnynn',
  'GET /v2/attributes/{id}': '--nnnnyynn',
  'DELETE /v2/attributes/{id}': '--nnnnnynn',
  // Tenants see their own.
  'GET /operator/v1/history': '--nnyyyyyy',
  'GET /operator/v1/usage': '--nnyyyyyy',
  'GET /operator/v1/aggregates': '--nnnnnynn',
  'GET /operator/v1/binds': '--nnnnnynn',
  'GET /operator/v1/metrics': '--nnnnnynn',
  'GET /operator/v1/report': '--nnnnnynn',
  'GET /operator/v1/hosts': '--nnnnnynn',
  'GET /operator/v1/hosts/{id}': '--nnnnnynn',
  'DELETE /operator/v1/hosts/{id}': '--nnnnnynn',
  'GET /operator/v1/hosts/{id}/topology': '--nnnnnynn',
  'POST /operator/v1/hosts/{id}/rediscover': '--nnnnnynn',
  'POST /operator/v1/hosts/{id}/drain': '--nnnnnynn',
  'POST /operator/v1/hosts/{id}/resume': '--nnnnnynn',
  'POST /operator/v1/hosts/{id}/settle': '--nnnnnynn',
  'GET /operator/v1/assignments': '--nnyyyyyy',
  'GET /operator/v1/capacity': '--nnyyyyyy',
  'GET /operator/v1/names': '--nnyyyyyy',
  'GET /operator/v1/incidents': '--nnnnnynn',
  'POST /operator/v1/reconcile': '--nnnnnynn',
  'POST /operator/v1/reap': '--nnnnnynn',
  'POST /operator/v1/devices/{id}/grant': '--nnnnnynn',
  'POST /operator/v1/devices/{id}/reset': '--nnnnnynn',
  'POST /operator/v1/devices/{id}/revoke': '--nnnnnynn',
  'GET /operator/v1/holds': '--nnnnnynn',
  'POST /operator/v1/holds': '--nnnnnynn',
  'GET /operator/v1/holds/{id}': '--nnnnnynn',
  'DELETE /operator/v1/holds/{id}': '--nnnnnynn',
  'GET /operator/v1/firmware': '--nnnnnynn',
  'GET /operator/v1/firmware/images/{id}': '--nnnnnynn',
  'GET /operator/v1/firmware/baselines': '--nnnnnynn',
  'PUT /operator/v1/firmware/baselines/{id}': '--nnnnnynn',
  'DELETE /operator/v1/firmware/baselines/{id}': '--nnnnnynn',
  'GET /operator/v1/device_profiles': '--nnnnnynn',
  'GET /operator/v1/device_profiles/{id}': '--nnnnnynn',
  'PUT /operator/v1/device_profiles/{id}': '--nnnnnynn',
  'POST /operator/v1/device_profiles/{id}/enable': '--nnnnnynn',
  'POST /operator/v1/device_profiles/{id}/disable': '--nnnnnynn',
  'GET /operator/v1/quotas': '--nnnnnynn',
  'GET /operator/v1/quotas/{id}': '--nnyyyyyy',
  'PUT /operator/v1/quotas/{id}': '--nnnnnynn',
  'DELETE /operator/v1/quotas/{id}': '--nnnnnynn',
};

const world = perFile(startWorld);
const closed = routes.filter(({ policy }) => policy !== undefined);

it('has a row for every route that is not open to all, and for no other', () => {
  const named = closed.map(({ method, path }) => `${method} ${path}`);
  expect(Object.keys(matrix).sort()).toEqual(named.sort());
  expect(new Set(Object.values(matrix).map((row) => row.length))).toEqual(
    new Set([Object.keys(personas).length]),
  );
});

const cells = Object.entries(matrix).flatMap(([route, row]) =>
  [...row].flatMap((wanted, index) =>
    [undefined, 'nova-token', 'alt-token'].map((serviceToken) => {
      const persona = Object.keys(personas)[index] as Persona;
      return [route, persona, serviceToken, wanted] as const;
    }),
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
      expectedOutcome(persona, serviceToken, wanted, matrix[route]?.[5] ?? ''),
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
