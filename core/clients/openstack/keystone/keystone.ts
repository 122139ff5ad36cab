// A client for Keystone: validates callers' tokens, signs people in, and obtains our own token.
// While Keystone does not answer, every method throws ServiceUnavailable, so no request is allowed
// without validation.

import * as z from 'zod';
import {
  createHttp,
  type Http,
  type HttpAnswer,
  type HttpRequest,
  RequestRefused,
  readBody,
  ServiceUnavailable,
  saysAbsent,
} from '#core/clients/http.ts';
import {
  createServiceCalls,
  renewalsMax,
  type ServiceIdentity,
} from '#core/clients/openstack/service-calls.ts';
import type { AccessRule } from '#core/domain/access-rules.ts';
import type { PasswordSource } from '#core/domain/password-source.ts';
import type { Log } from '#core/log.ts';
import type { Settings } from '#core/settings.ts';
import { present } from '#core/shapes/derive/present.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import type { Credentials } from './keystone-credentials.ts';
import { createOwnToken, describeUser, identityUrl, type OwnTokenStore } from './own-token.ts';
import { type SignedIn, signIn } from './sign-in.ts';
import { createTokenCache, tokenKey } from './token-cache.ts';

export interface TokenIdentity {
  readonly userId: string;
  readonly projectId?: string;
  /** The scope of a domain-scoped token; not the user's own domain. */
  readonly domainId?: string;
  readonly isSystemScoped: boolean;
  readonly roles: readonly string[];
  /** What an application credential may call, if it has rules; an empty list allows nothing. */
  readonly accessRules?: readonly AccessRule[];
  /** In the past only if an expired token was allowed. */
  readonly expiresAt: Date;
}

interface ValidateOptions {
  /** Accepts an expired user token that comes with a service token, as keystonemiddleware does. */
  readonly allowExpired: boolean;
}

export interface Keystone extends ServiceIdentity {
  /** Undefined if Keystone does not know the token. @throws ServiceUnavailable */
  validateToken(token: string, options: ValidateOptions): Promise<TokenIdentity | undefined>;
  /** Whether a project has exactly this id. @throws ServiceUnavailable */
  hasProject(id: string): Promise<boolean>;
}

/**
 * Who we are ourselves; undefined where Keystone does not know its own token. @throws
 * ServiceUnavailable
 */
export async function ownIdentity(keystone: Keystone): Promise<TokenIdentity | undefined> {
  return keystone.validateToken(await keystone.ownToken(), { allowExpired: false });
}

export interface KeystoneClient extends Keystone {
  /** Undefined if Keystone refuses. @throws ServiceUnavailable */
  signIn(credentials: Credentials): Promise<SignedIn | undefined>;
}

export interface KeystoneOptions {
  readonly settings: Settings['keystone'];
  readonly passwords?: PasswordSource;
  /** Replaces the catalog's endpoint, by service type. */
  readonly endpoints?: Readonly<Record<string, string | undefined>>;
  readonly http?: Http;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly log: Log;
  readonly ownTokenStore?: OwnTokenStore;
  /**
   * 0 ≤ x < 1; spreads what containers would do all at once: renewals of our token, and probes.
   */
  readonly random?: () => number;
}

// A slow Keystone must not hold executions for long: this is for all calls of one validation, a
// login of ours included.
const validationMs = 4_000;

const breakerLimits = { failuresMax: 3, openMs: 5_000, openMsMax: 30_000 };

/** What API Gateway allows for all headers of a request. */
export const tokenLengthMax = 10_240;

/**
 * What a header may have in ASCII. Keystone decides about the rest: it skips characters that are
 * none of Fernet's, so it knows a token in quotation marks, as scripts send it that read JSON. A
 * Fernet token has about 200 characters, and up to 88 more for each group of a federated user.
 */
const tokenForm = new RegExp(`^[\\t -~]{1,${tokenLengthMax}}$`);

/** What servers before Keystone answer to a header that is too long for them. */
const headerTooLong: readonly number[] = [400, 413, 431];
/** Longer than any token that is not a federated user's. */
export const longTokenLength = 4096;

export function createKeystone(options: KeystoneOptions): KeystoneClient {
  const { settings, clock, log } = options;
  const http = options.http ?? createHttp();
  const ownTokens = createOwnToken({ ...options, http, store: options.ownTokenStore });
  const cache = createTokenCache(clock, settings.tokenCacheSeconds);
  const underWay = new Map<string, Promise<TokenIdentity | undefined>>();
  // The breaker protects validations and sign-ins only: consumers retry through their queues.
  const throughBreaker = createCircuitBreaker({
    ...breakerLimits,
    clock,
    random: options.random ?? (() => 0),
    // A refusal of our own password or role is an answer, and needs no retry.
    isFailure: (error) => error instanceof ServiceUnavailable && error.isWorthRetrying,
    refusal: (waitMs) => {
      const reason = 'its last answers failed or came too late, and it is given time to recover';
      const retryAfter = Math.max(Math.ceil(waitMs / 1_000), 1);
      return new ServiceUnavailable('identity', identityUrl(settings), reason, true, retryAfter);
    },
    onOpen: (waitMs) => log.warn('Keystone circuit breaker opened', { open_ms: waitMs }),
    onClose: () => log.info('Keystone circuit breaker closed'),
  });

  async function validateToken(token: string, { allowExpired }: ValidateOptions) {
    if (!tokenForm.test(token)) return undefined;
    const key = tokenKey(token, allowExpired);
    const verdict = cache.find(key);
    if (verdict) return verdict.identity;
    const validation = underWay.get(key) ?? ask(key, token, allowExpired);
    underWay.set(key, validation);
    return validation;
  }

  async function ask(key: string, token: string, allowExpired: boolean) {
    try {
      const identity = await throughBreaker(() => askKeystone(token, allowExpired));
      cache.keep(key, { identity }, allowExpired);
      return identity;
    } finally {
      underWay.delete(key);
    }
  }

  async function askKeystone(token: string, allowExpired: boolean) {
    const endsAt = clock() + validationMs;
    const leftMs = () => Math.max(endsAt - clock(), 1);
    let ownToken = await ownTokens.ownToken(leftMs());
    let [request, answer] = await call(ownToken, token, allowExpired, leftMs());
    // 401 refuses our token, 404 the caller's token.
    for (let renewals = 0; answer.status === 401 && renewals < renewalsMax; renewals += 1) {
      ownTokens.dropOwnToken(ownToken);
      ownToken = await ownTokens.ownToken(leftMs());
      [request, answer] = await call(ownToken, token, allowExpired, leftMs());
    }
    if (saysAbsent(answer, 'error') || refusesSubject(answer)) return undefined;
    if (token.length > longTokenLength && headerTooLong.includes(answer.status)) return undefined;
    if (answer.status !== 200) {
      const { message } = new RequestRefused(request, answer);
      const reason = `${describeUser(settings)} cannot validate tokens: ${message}`;
      throw new ServiceUnavailable('identity', request.url, reason, false);
    }
    const identity = readIdentity(request, answer);
    // A replica of Keystone, or a proxy before it, may answer from a cache of its own.
    const hasEnded = identity.expiresAt.getTime() <= clock();
    return hasEnded && !allowExpired ? undefined : identity;
  }

  async function call(ownToken: string, token: string, allowExpired: boolean, timeoutMs: number) {
    const request: HttpRequest = {
      service: 'identity',
      method: 'GET',
      // Without the catalog, which would be most of the answer.
      url: `${identityUrl(settings)}/auth/tokens?nocatalog${allowExpired ? '&allow_expired=1' : ''}`,
      headers: {
        'X-Auth-Token': ownToken,
        'X-Subject-Token': token,
        // Without it Keystone refuses application credentials that have access rules.
        'OpenStack-Identity-Access-Rules': '1.0',
      },
      timeoutMs,
    };
    return [request, await http(request)] as const;
  }

  const callKeystone = createServiceCalls(
    http,
    { ...ownTokens, endpoint: async () => identityUrl(settings), noteAway: () => {} },
    { type: 'identity', headers: {} },
  );

  async function hasProject(id: string): Promise<boolean> {
    const path = `/projects/${encodeURIComponent(id)}`;
    const { request, answer } = await callKeystone('GET', path, undefined, validationMs);
    if (answer.status === 200) {
      const { project } = readBody(projectBody, request, answer);
      // A domain is also a project, of which no token is. Some databases find an id without case.
      return project.id === id && !project.is_domain;
    }
    if (answer.status === 404 || answer.status === 400) return false;
    const reason = `${describeUser(settings)} may not read projects (${answer.status})`;
    throw new ServiceUnavailable('identity', request.url, reason, false);
  }

  return {
    ...ownTokens,
    validateToken,
    hasProject,
    signIn: (credentials) => throughBreaker(() => signIn(settings, http, credentials)),
  };
}

const trustRefusal = z.object({
  error: z.object({
    message: z.literal('You are not authorized to perform the requested action.'),
  }),
});

/**
 * Whether the caller's token is refused: that of a trust whose user is disabled or has lost a role
 * is 403. A refusal of our own role names the action behind these words.
 */
function refusesSubject({ status, body }: HttpAnswer): boolean {
  return status === 403 && trustRefusal.safeParse(body).success;
}

const projectBody = z.object({
  project: z.object({ id: z.string(), is_domain: z.boolean().default(false) }),
});

const identityBody = z.object({
  token: z.object({
    user: z.object({ id: z.string() }),
    project: z.object({ id: z.string() }).optional(),
    domain: z.object({ id: z.string() }).optional(),
    system: z.object({ all: z.boolean() }).optional(),
    // An unscoped token has no project.
    roles: z.array(z.object({ name: z.string() })).default([]),
    application_credential: z
      .object({
        access_rules: z
          .array(z.object({ method: z.string(), path: z.string(), service: z.string() }))
          .nullish(),
      })
      .nullish(),
    expires_at: z.iso.datetime({ offset: true }),
  }),
});

function readIdentity(request: HttpRequest, answer: HttpAnswer): TokenIdentity {
  const { token } = readBody(identityBody, request, answer);
  return {
    userId: token.user.id,
    ...present({
      projectId: token.project?.id,
      domainId: token.domain?.id,
      accessRules: token.application_credential?.access_rules ?? undefined,
    }),
    isSystemScoped: token.system?.all === true,
    roles: [...new Set(token.roles.map(({ name }) => name))],
    expiresAt: new Date(token.expires_at),
  };
}
