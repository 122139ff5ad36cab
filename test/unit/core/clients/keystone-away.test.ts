// Answers to callers while Keystone is unavailable, and how many requests Keystone gets then.

import { describe, expect, it } from 'vitest';
import { createHttp, type Http, ServiceUnavailable } from '#core/clients/http.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { ask, isValidation, startWire } from './keystone-wire.ts';

const seconds = 1_000;

const wire = perTest(startWire);

describe('while Keystone is unavailable, no token is valid and none is unknown', () => {
  it.each([
    { what: 'it is broken', answer: { status: 500 } },
    { what: 'it is busy', answer: { status: 429 } },
    { what: 'the URL leads to another service', answer: { status: 404, body: '<html>' } },
    { what: 'another service answers', answer: { status: 200, body: { hello: 'world' } } },
    { what: 'we may not ask', answer: { status: 403, body: { error: { message: 'no' } } } },
  ])('$what', async ({ answer }) => {
    wire.interfere = (ask) => (isValidation(ask) ? answer : undefined);
    const asked = wire.keystone().validateToken('demo-token', { allowExpired: false });
    await expect(asked).rejects.toThrow(ServiceUnavailable);
  });

  it('the failure is not cached', async () => {
    const us = wire.keystone();
    wire.interfere = (ask) => (isValidation(ask) ? { status: 500 } : undefined);
    await expect(us.validateToken('demo-token', { allowExpired: false })).rejects.toThrow();
    wire.interfere = undefined;
    expect(await us.validateToken('demo-token', { allowExpired: false })).toBeDefined();
  });
});

describe('a Keystone that answers 500 to some sign-ins', () => {
  it('is asked about others: the names of one person refuse no other', async () => {
    const us = wire.keystone();
    const signIn = (user: string) =>
      us.signIn({
        method: 'password',
        user,
        password: 'secret',
        domain: 'Default',
        project: 'demo',
        projectDomain: 'Default',
      });
    wire.interfere = (ask) =>
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
    const us = wire.keystone();
    wire.interfere = (ask) => (isValidation(ask) ? { status: 500 } : undefined);
    const failed = [];
    for (let count = 0; count < 20; count += 1) {
      failed.push(await ask(us, `bogus-${count}`).catch((error: unknown) => error));
      wire.now += 100;
    }
    expect(wire.validations()).toBe(3);
    expect(failed.at(2)).toMatchObject({ retryAfterSeconds: undefined });
    expect(failed.at(3)).toMatchObject({ isWorthRetrying: true, retryAfterSeconds: 5 });
    expect(failed.at(-1)).toMatchObject({ retryAfterSeconds: 4 });
    wire.interfere = undefined;
    wire.now += 5 * seconds;
    expect(await ask(us, 'demo-token')).toBeDefined();
  });

  it('does not lock out tokens that were validated before', async () => {
    const us = wire.keystone();
    await ask(us, 'demo-token');
    wire.interfere = () => ({ status: 503 });
    for (let count = 0; count < 5; count += 1) await ask(us, 'reader-token').catch(() => {});
    expect(await ask(us, 'demo-token')).toBeDefined();
    wire.interfere = undefined;
    wire.now += 5 * seconds;
    expect(await ask(us, 'reader-token')).toBeDefined();
  });

  it('delays a validation for at most 4 seconds, with the login that it needs', async () => {
    const limits: (number | undefined)[] = [];
    const within = createHttp();
    const http: Http = async (request) => {
      limits.push(request.timeoutMs);
      wire.now += 1_500;
      return within(request);
    };
    const us = wire.keystone({ http });
    expect(await ask(us, 'demo-token')).toBeDefined();
    await wire.revoke(await us.ownToken());
    await ask(us, 'reader-token');
    // The second validation finds our token revoked: it asks, logs in and asks again.
    expect(limits).toEqual([4_000, 2_500, 4_000, 2_500, 1_000]);
  });

  it('is still asked about unknown tokens after it has refused our own', async () => {
    const us = wire.keystone();
    await us.ownToken();
    wire.interfere = (asked) => (isValidation(asked) ? { status: 401 } : undefined);
    await expect(ask(us, 'demo-token')).rejects.toThrow(ServiceUnavailable);
    wire.interfere = undefined;
    expect(await ask(us, 'demo-token')).toBeDefined();
  });
});
