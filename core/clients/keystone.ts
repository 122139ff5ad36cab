// Keystone: who a caller is, and who we are. What Keystone cannot be asked about is never allowed:
// every method throws ServiceUnavailable then.

import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import {
  createHttp,
  type Http,
  type HttpAnswer,
  type HttpRequest,
  RequestRefused,
  readBody,
  ServiceUnavailable,
  saysAbsent,
} from './http.ts';
import { createOwnToken, identityUrl, nameOf, type OwnTokenStore } from './own-token.ts';
import type { ServiceIdentity } from './service-calls.ts';

export interface TokenIdentity {
  readonly userId: string;
  readonly projectId?: string;
  /** Of a domain-scoped token; not the user's own domain. */
  readonly domainId?: string;
  readonly isSystemScoped: boolean;
  readonly roles: readonly string[];
  /** In the past only where an expired token was allowed. */
  readonly expiresAt: Date;
}

export interface ValidateOptions {
  /** As Keystone's middleware does for a user's token that comes with a service token. */
  readonly allowExpired: boolean;
}

export interface Keystone extends ServiceIdentity {
  /** Undefined for a token that Keystone does not know. @throws ServiceUnavailable */
  validateToken(token: string, options: ValidateOptions): Promise<TokenIdentity | undefined>;
}

/** Who we are ourselves; undefined where Keystone does not know its own token. @throws ServiceUnavailable */
export async function ownIdentity(keystone: Keystone): Promise<TokenIdentity | undefined> {
  return keystone.validateToken(await keystone.ownToken(), { allowExpired: false });
}

export interface KeystoneOptions {
  readonly settings: Settings['keystone'];
  /** Instead of what the catalog says, by service type. */
  readonly endpoints?: Readonly<Record<string, string | undefined>>;
  readonly http?: Http;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly log: Log;
  readonly ownTokenStore?: OwnTokenStore;
  /** 0 ≤ x < 1; spreads the renewals of containers that share a token. */
  readonly random?: () => number;
}

// How long a revoked token still works, at most: keystonemiddleware's default, too.
const cacheMs = 300_000;
// A token may become known a moment later (replicas); a client's loop must not become Keystone's.
const unknownCacheMs = 3_000;
const cacheEntriesMax = 1_000;

interface Entry {
  readonly identity: TokenIdentity | undefined;
  readonly staleAt: number;
}

export function createKeystone(options: KeystoneOptions): Keystone {
  const { settings, clock } = options;
  const http = options.http ?? createHttp();
  const own = createOwnToken({ ...options, http, store: options.ownTokenStore });
  const cache = new Map<string, Entry>();
  const underWay = new Map<string, Promise<TokenIdentity | undefined>>();

  async function validateToken(token: string, { allowExpired }: ValidateOptions) {
    // Nothing else can be a header's value, so Keystone cannot have given it out.
    if (!/^[\x21-\x7e]{1,8192}$/.test(token)) return undefined;
    // Memory dumps and logs of keys shall hold no tokens.
    const digest = createHash('sha256').update(token).digest('base64');
    const key = `${digest} ${allowExpired}`;
    const entry = cache.get(key);
    if (entry && entry.staleAt > clock()) {
      keep(key, entry);
      return entry.identity;
    }
    const asked = underWay.get(key) ?? ask(key, token, allowExpired);
    underWay.set(key, asked);
    return asked;
  }

  async function ask(key: string, token: string, allowExpired: boolean) {
    try {
      const identity = await askKeystone(token, allowExpired);
      keep(key, { identity, staleAt: staleAt(identity, allowExpired) });
      return identity;
    } finally {
      underWay.delete(key);
    }
  }

  function staleAt(identity: TokenIdentity | undefined, allowExpired: boolean): number {
    if (!identity) return clock() + unknownCacheMs;
    const latest = clock() + cacheMs;
    return allowExpired ? latest : Math.min(latest, identity.expiresAt.getTime());
  }

  /** A Map keeps insertion order: the first key is the one that was used longest ago. */
  function keep(key: string, entry: Entry): void {
    cache.delete(key);
    cache.set(key, entry);
    const [oldest] = cache.keys();
    if (cache.size > cacheEntriesMax && oldest !== undefined) cache.delete(oldest);
  }

  async function askKeystone(token: string, allowExpired: boolean) {
    const ownToken = await own.ownToken();
    let [request, answer] = await call(ownToken, token, allowExpired);
    if (answer.status === 401) {
      // 401 is about our token, 404 about the caller's.
      own.dropOwnToken(ownToken);
      [request, answer] = await call(await own.ownToken(), token, allowExpired);
    }
    if (saysAbsent(answer, 'error')) return undefined;
    if (answer.status !== 200) {
      const { message } = new RequestRefused(request, answer);
      const reason = `${nameOf(settings)} cannot validate tokens: ${message}`;
      throw new ServiceUnavailable('identity', request.url, reason, false);
    }
    return readIdentity(request, answer);
  }

  async function call(ownToken: string, token: string, allowExpired: boolean) {
    const request: HttpRequest = {
      service: 'identity',
      method: 'GET',
      // The catalog would be most of the answer, and is not asked for.
      url: `${identityUrl(settings)}/auth/tokens?nocatalog${allowExpired ? '&allow_expired=1' : ''}`,
      headers: { 'X-Auth-Token': ownToken, 'X-Subject-Token': token },
    };
    return [request, await http(request)] as const;
  }

  return { ...own, validateToken };
}

const identityBody = z.object({
  token: z.object({
    user: z.object({ id: z.string() }),
    project: z.object({ id: z.string() }).optional(),
    domain: z.object({ id: z.string() }).optional(),
    system: z.object({ all: z.boolean() }).optional(),
    // An unscoped token has none.
    roles: z.array(z.object({ name: z.string() })).default([]),
    expires_at: z.iso.datetime({ offset: true }),
  }),
});

function readIdentity(request: HttpRequest, answer: HttpAnswer): TokenIdentity {
  const { token } = readBody(identityBody, request, answer);
  return {
    userId: token.user.id,
    ...(token.project && { projectId: token.project.id }),
    ...(token.domain && { domainId: token.domain.id }),
    isSystemScoped: token.system?.all === true,
    roles: [...new Set(token.roles.map(({ name }) => name))],
    expiresAt: new Date(token.expires_at),
  };
}
