import { describe, expect, it, vi } from 'vitest';
import { createHttp, ServiceUnavailable } from '#core/clients/http.ts';
import type { OwnTokenStore } from '#core/clients/openstack/keystone/own-token.ts';
import type { OwnToken } from '#core/contracts/own-token.ts';
import { loadSettings } from '#core/settings.ts';
import type { Answer, Ask } from '#local/openstack/http-service.ts';
import { serviceCredentials } from '#local/openstack/keystone/keystone.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { ask, isValidation, start, startWire } from './keystone-wire.ts';

const seconds = 1_000;
/** The function's settings. */
const needed = {
  CYBORG_STAGE: 'test',
  KEYSTONE_URL: 'http://keystone.test/v3',
  CYBORG_OS_PASSWORD: 'x',
};

const wire = perTest(startWire);

describe('a token', () => {
  it('has user, project, roles and expiry', async () => {
    const identity = await wire.keystone().validateToken('demo-token', { allowExpired: false });
    expect(identity).toMatchObject({ isSystemScoped: false, roles: ['member', 'reader'] });
    expect(identity?.projectId).toMatch(/^[0-9a-f]{32}$/);
    expect(identity?.expiresAt).toEqual(new Date(start + 3600 * seconds));
  });

  it('of the whole system differs from one without any scope', async () => {
    const us = wire.keystone();
    const system = await us.validateToken('system-admin-token', { allowExpired: false });
    const unscoped = await us.validateToken('unscoped-token', { allowExpired: false });
    expect(system).toMatchObject({ isSystemScoped: true });
    expect(system?.roles).toContain('admin');
    expect(unscoped).toMatchObject({ isSystemScoped: false, roles: [] });
    expect(unscoped).not.toHaveProperty('projectId');
  });

  it('that Keystone does not know has no identity', async () => {
    expect(await wire.keystone().validateToken('unknown', { allowExpired: true })).toBeUndefined();
    expect(wire.validations()).toBe(1);
  });

  it.each(['', 'two\nlines', 'nul\0', 'caf\u00e9', 'emoji-☃', 'x'.repeat(10_241)])(
    'that no Keystone issues is refused without a request: %j',
    async (token) => {
      expect(await wire.keystone().validateToken(token, { allowExpired: true })).toBeUndefined();
      expect(wire.asked).toEqual([]);
    },
  );

  it.each(['"demo-token"', "'demo-token'", 'demo-token,', 'demo -token', 'demo\t-token'])(
    'is valid if Keystone takes its form: %j',
    async (token) => {
      expect(await ask(wire.keystone(), token)).toMatchObject({ roles: ['member', 'reader'] });
    },
  );

  it('may be as long as the Fernet token of a user in many groups', async () => {
    await wire.keystone().validateToken(`gAAAAA${'x_-'.repeat(3_410)}==`, { allowExpired: false });
    expect(wire.validations()).toBe(1);
  });

  it.each([400, 413, 431])(
    'that is too long for a server before Keystone, which answers %i, is refused',
    async (status) => {
      wire.interfere = (asked) => (isValidation(asked) ? { status } : undefined);
      const us = wire.keystone();
      expect(await ask(us, 'x'.repeat(8_200))).toBeUndefined();
      await expect(ask(us, 'short')).rejects.toThrow(ServiceUnavailable);
    },
  );

  it('is refused, not Keystone, where its trust has ended', async () => {
    const message = 'You are not authorized to perform the requested action.';
    wire.interfere = (asked) =>
      isValidation(asked) ? { status: 403, body: { error: { message } } } : undefined;
    expect(await ask(wire.keystone(), 'trust-token')).toBeUndefined();
  });

  it.each([
    'You are not authorized to perform the requested action: identity:validate_token.',
    undefined,
  ])('is not refused where we may not ask: %j', async (message) => {
    const body = message === undefined ? 'Forbidden' : { error: { message } };
    wire.interfere = (asked) => (isValidation(asked) ? { status: 403, body } : undefined);
    await expect(ask(wire.keystone(), 'any')).rejects.toThrow('cannot validate tokens');
  });

  it('of a credential with access rules has them', async () => {
    const { accessRules } = (await ask(wire.keystone(), 'limited-token')) ?? {};
    expect(accessRules?.map(({ service }) => service)).toEqual([
      'compute',
      'accelerator',
      'accelerator',
    ]);
    expect(await ask(wire.keystone(), 'demo-token')).not.toHaveProperty('accessRules');
  });

  it('that has expired is accepted only if the caller allows it', async () => {
    const us = wire.keystone();
    expect(await us.validateToken('expired-token', { allowExpired: false })).toBeUndefined();
    const identity = await us.validateToken('expired-token', { allowExpired: true });
    expect(identity?.expiresAt.getTime()).toBeLessThan(wire.now);
  });

  it('that Keystone answers with an end in the past is refused, and not cached as valid', async () => {
    const us = wire.keystone();
    wire.interfere = (ask) => asIfKnown(ask, -seconds);
    expect(await us.validateToken('demo-token', { allowExpired: false })).toBeUndefined();
    expect(await us.validateToken('demo-token', { allowExpired: false })).toBeUndefined();
    expect(await us.validateToken('demo-token', { allowExpired: true })).toBeDefined();
  });

  it.each([
    ['admin-token', {}, 60],
    ['nova-token', {}, 60],
    ['manager-token', {}, 300],
    ['manager-token', { manager: 20 }, 20],
    ['manager-token', { reader: 30, manager: 20 }, 20],
    ['admin-token', { admin: 300, manager: 300 }, 300],
    ['admin-token', { admin: 1 }, 1],
    ['admin-token', { Admin: 1 }, 1],
    ['manager-token', { MANAGER: 20 }, 20],
    ['demo-token', {}, 300],
    ['unknown', {}, 30],
  ])('%s with the setting %j is validated again after %i s', async (token, given, lasts) => {
    const CYBORG_TOKEN_CACHE_SECONDS = JSON.stringify(given);
    const { tokenCacheSeconds } = loadSettings({ ...needed, CYBORG_TOKEN_CACHE_SECONDS }).keystone;
    const settings = { ...serviceCredentials('cyborg', `${wire.url}/v3`), tokenCacheSeconds };
    const us = wire.keystone({ settings });
    await us.validateToken(token, { allowExpired: false });
    wire.now += lasts * seconds - 1;
    await us.validateToken(token, { allowExpired: false });
    expect(wire.validations()).toBe(1);
    wire.now += 1;
    await us.validateToken(token, { allowExpired: false });
    expect(wire.validations()).toBe(2);
  });

  it('is not cached beyond its own expiry', async () => {
    const us = wire.keystone();
    await us.validateToken('demo-token', { allowExpired: false });
    const shortLived = await logIn();
    wire.now += 3590 * seconds;
    expect(await us.validateToken(shortLived, { allowExpired: false })).toBeDefined();
    wire.now += 11 * seconds;
    expect(await us.validateToken(shortLived, { allowExpired: false })).toBeUndefined();
  });

  it('is validated once for concurrent callers', async () => {
    const us = wire.keystone();
    const ask = () => us.validateToken('demo-token', { allowExpired: false });
    const identities = await Promise.all([ask(), ask(), ask()]);
    expect(wire.validations()).toBe(1);
    expect(new Set(identities).size).toBe(1);
  });

  it('makes room for others when it was used longest ago', async () => {
    const us = wire.keystone();
    await us.validateToken('demo-token', { allowExpired: false });
    await us.validateToken('reader-token', { allowExpired: false });
    wire.interfere = (ask) => asIfKnown(ask);
    for (let batch = 0; batch < 10; batch += 1) {
      const others = Array.from({ length: 100 }, (_, index) => `other-${batch}-${index}`);
      await us.validateToken('demo-token', { allowExpired: false });
      await Promise.all(others.map((each) => us.validateToken(each, { allowExpired: false })));
    }
    const before = wire.validations();
    await us.validateToken('demo-token', { allowExpired: false });
    expect(wire.validations()).toBe(before);
    await us.validateToken('reader-token', { allowExpired: false });
    expect(wire.validations()).toBe(before + 1);
  });

  it('keeps its place in the cache during a flood of unknown tokens', async () => {
    const http = vi.fn(createHttp());
    const us = wire.keystone({ http });
    await us.validateToken('demo-token', { allowExpired: false });
    http.mockImplementation(async () => unknownToken);
    for (let count = 0; count < 10_001; count += 1) await ask(us, `bogus-${count}`);
    http.mockClear();
    expect(await ask(us, 'demo-token')).toBeDefined();
    await ask(us, 'bogus-10000');
    expect(http).not.toHaveBeenCalled();
    // The flood is cached up to a limit.
    await ask(us, 'bogus-0');
    expect(http).toHaveBeenCalledOnce();
  });
});

describe('our own token', () => {
  it('is requested once by concurrent callers', async () => {
    const us = wire.keystone();
    const tokens = await Promise.all([us.ownToken(), us.ownToken(), us.ownToken()]);
    expect(new Set(tokens).size).toBe(1);
    expect(logins()).toBe(1);
  });

  it('is renewed a minute before it expires', async () => {
    const us = wire.keystone();
    const first = await us.ownToken();
    wire.now += (3600 - 61) * seconds;
    expect(await us.ownToken()).toBe(first);
    wire.now += 2 * seconds;
    expect(await us.ownToken()).not.toBe(first);
  });

  it('is renewed once when Keystone no longer knows it', async () => {
    const us = wire.keystone();
    const token = await us.ownToken();
    await wire.revoke(token);
    expect(await us.validateToken('demo-token', { allowExpired: false })).toBeDefined();
    expect(logins()).toBe(2);
  });

  it('that is refused repeatedly makes Keystone unavailable, without a loop', async () => {
    wire.interfere = (ask) => (isValidation(ask) ? { status: 401 } : undefined);
    const asked = wire.keystone().validateToken('demo-token', { allowExpired: false });
    await expect(asked).rejects.toThrow(ServiceUnavailable);
    expect(logins()).toBe(3);
  });

  it('is issued anew if another container has stored one that has ended with ours', async () => {
    const ownTokenStore = aStore();
    const idle = wire.keystone({ ownTokenStore });
    const busy = wire.keystone({ ownTokenStore });
    const first = await idle.ownToken();
    // The password changes twice; the idle container is asked only afterwards.
    await wire.revoke(first);
    await busy.validateToken('demo-token', { allowExpired: false });
    const second = await busy.ownToken();
    expect(second).not.toBe(first);
    await wire.revoke(second);
    const identity = await idle.validateToken('admin-token', { allowExpired: false });
    expect(identity?.roles).toContain('admin');
  });

  it('is refused for a wrong password, and Keystone is not asked again for a while', async () => {
    const us = wire.keystone({ settings: { ...wire.credentials(), password: 'wrong' } });
    const failed = await us.ownToken().catch((error: unknown) => error);
    expect(failed).toMatchObject({ isWorthRetrying: false });
    expect(String(failed)).toContain("no token for user 'cyborg' in project 'service'");
    await expect(us.ownToken()).rejects.toThrow(ServiceUnavailable);
    expect(logins()).toBe(1);
    wire.now += 11 * seconds;
    await expect(us.ownToken()).rejects.toThrow(ServiceUnavailable);
    expect(logins()).toBe(2);
  });

  it('is requested again at once after Keystone was unavailable', async () => {
    const us = wire.keystone();
    wire.interfere = () => ({ status: 503 });
    await expect(us.ownToken()).rejects.toMatchObject({ isWorthRetrying: true });
    wire.interfere = undefined;
    expect(await us.ownToken()).toBeTruthy();
  });

  it('is shared with other containers, until it is refused', async () => {
    const ownTokenStore = aStore();
    const first = wire.keystone({ ownTokenStore });
    const second = wire.keystone({ ownTokenStore });
    const token = await first.ownToken();
    expect(await second.ownToken()).toBe(token);
    expect(logins()).toBe(1);
    second.dropOwnToken(token);
    expect(await second.ownToken()).not.toBe(token);
    first.dropOwnToken(token);
    expect(await first.ownToken()).toBe(await second.ownToken());
    expect(logins()).toBe(2);
  });

  it('is renewed by containers at different times, so that one logs in for all', async () => {
    const early = wire.keystone({ random: () => 0.99 });
    const late = wire.keystone({ random: () => 0 });
    const [first, second] = [await early.ownToken(), await late.ownToken()];
    wire.now += (3600 - 120) * seconds;
    expect(await early.ownToken()).not.toBe(first);
    expect(await late.ownToken()).toBe(second);
  });

  it('is issued to an application credential, which has its own scope', async () => {
    wire.interfere = (ask) =>
      ask.method === 'POST'
        ? {
            status: 201,
            headers: { 'X-Subject-Token': 'of-the-credential' },
            body: { token: { expires_at: new Date(wire.now + 3600 * seconds).toISOString() } },
          }
        : undefined;
    const settings = {
      ...wire.credentials(),
      applicationCredentialId: 'id',
      password: 'its secret',
    };
    expect(await wire.keystone({ settings }).ownToken()).toBe('of-the-credential');
    expect(wire.asked[0]?.body).toEqual({
      auth: {
        identity: {
          methods: ['application_credential'],
          application_credential: { id: 'id', secret: 'its secret' },
        },
      },
    });
  });

  it('does not depend on the place where it is shared', async () => {
    const broken = () => Promise.reject(new Error('The store is broken.'));
    const us = wire.keystone({ ownTokenStore: { read: broken, write: broken } });
    expect(await us.ownToken()).toBeTruthy();
  });
});

describe('an endpoint', () => {
  it('comes from the catalog, without a trailing slash', async () => {
    expect(await wire.keystone().endpoint('placement')).toBe('http://placement.test');
  });

  it('comes from the settings if they have one, without a request to Keystone', async () => {
    const us = wire.keystone({ endpoints: { compute: 'http://other.test/' } });
    expect(await us.endpoint('compute')).toBe('http://other.test/v2.1');
    expect(wire.asked).toHaveLength(0);
  });

  it.each([
    { service: 'image', regionName: undefined, says: 'no internal endpoint for it' },
    {
      service: 'compute',
      regionName: 'Mars',
      says: "no internal endpoint for it in region 'Mars'",
    },
  ])('that is missing is named: $service in $regionName', async ({ service, regionName, says }) => {
    const settings = { ...wire.credentials(), ...(regionName && { regionName }) };
    const failed = await wire.keystone({ settings }).endpoint(service).catch(String);
    expect(failed).toContain(`${service} at`);
    expect(failed).toContain(says);
  });

  it('that an operator has changed is found once the service is away at the old one', async () => {
    const us = wire.keystone();
    expect(await us.endpoint('placement')).toBe('http://placement.test');
    wire.cloud.announce('placement', 'http://moved.test');
    us.noteAway('placement');
    expect(await us.endpoint('placement')).toBe('http://placement.test');
    wire.now += 31 * seconds;
    us.noteAway('placement');
    expect(await us.endpoint('placement')).toBe('http://moved.test');
    us.noteAway('placement');
    await us.endpoint('placement');
    expect(logins()).toBe(2);
  });

  it('of the settings needs no new token while its service is away', async () => {
    const us = wire.keystone({ endpoints: { compute: 'http://other.test/' } });
    await us.ownToken();
    wire.now += 31 * seconds;
    us.noteAway('compute');
    await us.ownToken();
    expect(logins()).toBe(1);
  });

  it('that an operator has just added is found without a restart', async () => {
    const us = wire.keystone();
    await expect(us.endpoint('image')).rejects.toThrow(ServiceUnavailable);
    wire.cloud.announce('image', 'http://glance.test');
    wire.now += 31 * seconds;
    expect(await us.endpoint('image')).toBe('http://glance.test');
  });
});

function aStore(): OwnTokenStore {
  let stored: OwnToken | undefined;
  return {
    read: async () => stored,
    write: async (token) => {
      stored = token;
    },
  };
}

const unknownToken = { status: 404, headers: new Headers(), body: { error: {} } };

function asIfKnown(ask: Ask, leftMs = 3600 * seconds): Answer | undefined {
  if (!isValidation(ask)) return undefined;
  const expires_at = new Date(wire.now + leftMs).toISOString();
  return { status: 200, body: { token: { user: { id: 'any' }, expires_at } } };
}

function logins(): number {
  return wire.asked.filter(({ method }) => method === 'POST').length;
}

async function logIn(): Promise<string> {
  return wire.keystone().ownToken();
}
