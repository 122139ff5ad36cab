// Answers to callers while Keystone is unavailable, and how many requests Keystone gets then.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHttp, type Http, ServiceUnavailable } from '#core/clients/http.ts';
import {
  createKeystone,
  type Keystone,
  type KeystoneOptions,
} from '#core/clients/openstack/keystone.ts';
import { silentLog } from '#core/log.ts';
import type { Answer, Ask } from '#local/openstack/http-service.ts';
import {
  type FakeKeystone,
  serviceCredentials,
  startKeystone,
} from '#local/openstack/keystone/keystone.ts';
import { aService, passOn, type ServiceDouble } from './service-double.ts';

const seconds = 1_000;

let now: number;
let cloud: FakeKeystone;
/** Between our client and the simulated cloud. */
let wire: ServiceDouble;
let interfere: ((ask: Ask) => Answer | undefined) | undefined;

beforeEach(async () => {
  now = Date.UTC(2026, 0, 1);
  interfere = undefined;
  cloud = await startKeystone({ host: '127.0.0.1', port: 0, clock: () => now });
  wire = await aService((ask) => interfere?.(ask) ?? passOn(ask, cloud.url.replace(/\/v3$/, '')));
});
afterEach(async () => {
  await wire.stop();
  await cloud.stop();
});

describe('while Keystone is unavailable, no token is valid and none is unknown', () => {
  it.each([
    { what: 'it is broken', answer: { status: 500 } },
    { what: 'it is busy', answer: { status: 429 } },
    { what: 'the URL leads to another service', answer: { status: 404, body: '<html>' } },
    { what: 'another service answers', answer: { status: 200, body: { hello: 'world' } } },
    { what: 'we may not ask', answer: { status: 403, body: { error: { message: 'no' } } } },
  ])('$what', async ({ answer }) => {
    interfere = (ask) => (isValidation(ask) ? answer : undefined);
    const asked = keystone().validateToken('demo-token', { allowExpired: false });
    await expect(asked).rejects.toThrow(ServiceUnavailable);
  });

  it('the failure is not cached', async () => {
    const us = keystone();
    interfere = (ask) => (isValidation(ask) ? { status: 500 } : undefined);
    await expect(us.validateToken('demo-token', { allowExpired: false })).rejects.toThrow();
    interfere = undefined;
    expect(await us.validateToken('demo-token', { allowExpired: false })).toBeDefined();
  });
});

describe('a Keystone that answers 500 to some sign-ins', () => {
  it('is asked about others: the names of one person refuse no other', async () => {
    const us = keystone();
    const signIn = (user: string) =>
      us.signIn({
        ...{ method: 'password', user, password: 'secret', domain: 'Default' },
        ...{ project: 'demo', projectDomain: 'Default' },
      });
    interfere = (ask) =>
      JSON.stringify(ask.body).includes('odd') ? { status: 500 } : { status: 401 };
    for (let count = 0; count < 10; count += 1) {
      const refused = await signIn(`odd-${count}`).catch((error: unknown) => error);
      expect(refused).toMatchObject({ isWorthRetrying: false });
    }
    expect(await signIn('demo')).toBeUndefined();
  });
});

describe('a Keystone that does not answer', () => {
  it('is not asked for a while after three failures, and callers get the remaining time', async () => {
    const us = keystone();
    interfere = (ask) => (isValidation(ask) ? { status: 500 } : undefined);
    const failed = [];
    for (let count = 0; count < 20; count += 1) {
      failed.push(await ask(us, `bogus-${count}`).catch((error: unknown) => error));
      now += 100;
    }
    expect(validations()).toBe(3);
    expect(failed.at(2)).toMatchObject({ retryAfterSeconds: undefined });
    expect(failed.at(3)).toMatchObject({ isWorthRetrying: true, retryAfterSeconds: 5 });
    expect(failed.at(-1)).toMatchObject({ retryAfterSeconds: 4 });
    interfere = undefined;
    now += 5 * seconds;
    expect(await ask(us, 'demo-token')).toBeDefined();
  });

  it('does not lock out tokens that were validated before', async () => {
    const us = keystone();
    await ask(us, 'demo-token');
    interfere = () => ({ status: 503 });
    for (let count = 0; count < 5; count += 1) await ask(us, 'reader-token').catch(() => {});
    expect(await ask(us, 'demo-token')).toBeDefined();
    interfere = undefined;
    now += 5 * seconds;
    expect(await ask(us, 'reader-token')).toBeDefined();
  });

  it('delays a validation for at most 4 seconds, with the login that it needs', async () => {
    const limits: (number | undefined)[] = [];
    const within = createHttp();
    const http: Http = async (request) => {
      limits.push(request.timeoutMs);
      now += 1_500;
      return within(request);
    };
    const us = keystone({ http });
    expect(await ask(us, 'demo-token')).toBeDefined();
    await revoke(await us.ownToken());
    await ask(us, 'reader-token');
    // The second validation finds our token revoked: it asks, logs in and asks again.
    expect(limits).toEqual([4_000, 2_500, 4_000, 2_500, 1_000]);
  });

  it('is still asked about unknown tokens after it has refused our own', async () => {
    const us = keystone();
    await us.ownToken();
    interfere = (asked) => (isValidation(asked) ? { status: 401 } : undefined);
    await expect(ask(us, 'demo-token')).rejects.toThrow(ServiceUnavailable);
    interfere = undefined;
    expect(await ask(us, 'demo-token')).toBeDefined();
  });
});

function keystone(options: Partial<KeystoneOptions> = {}) {
  const settings = serviceCredentials('cyborg', `${wire.url}/v3`);
  return createKeystone({ settings, clock: () => now, log: silentLog, ...options });
}

function ask(us: Keystone, token: string) {
  return us.validateToken(token, { allowExpired: false });
}

function isValidation({ method, path }: Ask): boolean {
  return method === 'GET' && path === '/v3/auth/tokens';
}

function validations(): number {
  return wire.asked.filter(isValidation).length;
}

async function revoke(token: string): Promise<void> {
  const headers = { 'X-Auth-Token': 'admin-token', 'X-Subject-Token': token };
  await fetch(`${cloud.url}/auth/tokens`, { method: 'DELETE', headers });
}
