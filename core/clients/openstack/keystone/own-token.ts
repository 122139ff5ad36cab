// The token with which we speak to other services, and the catalog that came with it. One token
// serves all callers of this process and, where a store is given, all containers of the
// deployment: hundreds of Lambda containers starting at once must not be hundreds of logins.

import * as z from 'zod';
import { givenPassword } from '#core/clients/aws/password.ts';
import {
  type Http,
  type HttpRequest,
  RequestRefused,
  readBody,
  ServiceUnavailable,
} from '#core/clients/http.ts';
import { callableUrl, type ServiceIdentity } from '#core/clients/openstack/service-calls.ts';
import type { OwnToken } from '#core/contracts/own-token.ts';
import type { PasswordSource } from '#core/domain/password-source.ts';
import type { Log } from '#core/log.ts';
import type { Settings } from '#core/settings.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type Credentials, toAuth } from './keystone-credentials.ts';

/** Shares the token between containers. The token is a secret: store it encrypted. */
export interface OwnTokenStore {
  read(): Promise<OwnToken | undefined>;
  write(token: OwnToken): Promise<void>;
}

interface OwnTokenOptions {
  readonly settings: Settings['keystone'];
  /** The settings' password, if absent. */
  readonly passwords?: PasswordSource | undefined;
  /** Replaces the catalog's endpoint, by service type. */
  readonly endpoints?: Readonly<Record<string, string | undefined>>;
  readonly http: Http;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly log: Log;
  readonly store?: OwnTokenStore | undefined;
  /** 0 ≤ x < 1 */
  readonly random?: (() => number) | undefined;
}

// A call made with the token's last seconds would find it expired on arrival. Each container
// begins at another time to look for a new one, so that one logs in and the others find its
// token.
const renewBeforeExpiryMs = 60_000;
const renewSpreadMs = 240_000;

// An operator can add or change an endpoint at any time, while our token may be hours old.
const catalogKeptMs = 30_000;

// Keystone can lock an account after a few wrong passwords.
const holdAfterRefusalMs = 10_000;

export function createOwnToken(options: OwnTokenOptions): ServiceIdentity {
  const { settings, clock, log, store } = options;
  const renewBeforeMs = renewBeforeExpiryMs + (options.random?.() ?? 0) * renewSpreadMs;
  let current: OwnToken | undefined;
  let renewal: Promise<OwnToken> | undefined;
  let refusedToken: string | undefined;
  let catalogReadAt = Number.NEGATIVE_INFINITY;
  let hold: { readonly error: Error; readonly until: number } | undefined;

  const isUsable = (candidate: OwnToken | undefined): candidate is OwnToken =>
    candidate !== undefined &&
    candidate.token !== refusedToken &&
    candidate.expiresAt - renewBeforeMs > clock();

  async function obtain(withinMs?: number): Promise<OwnToken> {
    if (isUsable(current)) return current;
    renewal ??= renew(withinMs).finally(() => {
      renewal = undefined;
    });
    return renewal;
  }

  async function renew(withinMs: number | undefined): Promise<OwnToken> {
    const shared = await readStore();
    current = isUsable(shared) ? shared : await logIn(withinMs);
    return current;
  }

  async function logIn(withinMs: number | undefined): Promise<OwnToken> {
    if (hold && hold.until > clock()) throw hold.error;
    try {
      const token = await authenticateWithAny(options, withinMs);
      catalogReadAt = clock();
      await writeStore(token);
      return token;
    } catch (error) {
      const isRefusal = error instanceof ServiceUnavailable && !error.isWorthRetrying;
      if (isRefusal) hold = { error, until: clock() + holdAfterRefusalMs };
      throw error;
    }
  }

  /** An old catalog that lacks the endpoint, or has it in several regions, is read again. */
  async function catalogUrl(serviceType: string): Promise<string> {
    const token = await obtain();
    const url = findEndpoint(token, serviceType, settings);
    if (typeof url === 'string') return url;
    if (clock() - catalogReadAt < catalogKeptMs) throw url;
    refusedToken = token.token;
    return catalogUrl(serviceType);
  }

  // The store only saves logins; the control plane works without it.
  async function readStore(): Promise<OwnToken | undefined> {
    try {
      return await store?.read();
    } catch (error) {
      log.warn('Shared token not read', { error });
      return undefined;
    }
  }

  async function writeStore(token: OwnToken): Promise<void> {
    try {
      await store?.write(token);
    } catch (error) {
      log.warn('Shared token not written', { error });
    }
  }

  return {
    ownToken: async (withinMs) => (await obtain(withinMs)).token,
    dropOwnToken: (refused) => {
      refusedToken = refused;
    },
    noteAway: (serviceType) => {
      const isFixed = options.endpoints?.[serviceType] !== undefined;
      if (isFixed || clock() - catalogReadAt < catalogKeptMs) return;
      refusedToken = current?.token;
    },
    endpoint: async (serviceType) => {
      const fixed = options.endpoints?.[serviceType];
      const url = fixed ?? (await catalogUrl(serviceType));
      return callableUrl(serviceType, url);
    },
  };
}

/** Settings give Keystone's URL with or without the version. */
export function identityUrl(settings: Settings['keystone']): string {
  const url = settings.url.replace(/\/+$/, '');
  return url.endsWith('/v3') ? url : `${url}/v3`;
}

const tokenBody = z.object({
  token: z.object({
    expires_at: z.iso.datetime({ offset: true }),
    catalog: z
      .array(
        z.object({
          type: z.string(),
          endpoints: z.array(
            z.object({
              interface: z.string(),
              region: z.string().nullish(),
              region_id: z.string().nullish(),
              url: z.string(),
            }),
          ),
        }),
      )
      .default([]),
  }),
});

/** Keystone knows another password of ours, or another secret. */
export class LoginRefused extends ServiceUnavailable {}

/**
 * A refused password may have been rotated: the others are asked for, and the first that holds is
 * kept.
 */
async function authenticateWithAny(
  options: OwnTokenOptions,
  timeoutMs: number | undefined,
): Promise<OwnToken> {
  const passwords = options.passwords ?? givenPassword(options.settings.password);
  const current = await passwords.current();
  try {
    return await authenticate(options, current, timeoutMs);
  } catch (error) {
    if (!(error instanceof LoginRefused)) throw error;
    for await (const password of passwords.others(current)) {
      try {
        const token = await authenticate(options, password, timeoutMs);
        passwords.keep(password);
        return token;
      } catch (fault) {
        if (!(fault instanceof LoginRefused)) throw fault;
      }
    }
    throw error;
  }
}

async function authenticate(
  { settings, http }: OwnTokenOptions,
  password: string,
  timeoutMs: number | undefined,
): Promise<OwnToken> {
  const request: HttpRequest = {
    service: 'identity',
    method: 'POST',
    url: `${identityUrl(settings)}/auth/tokens`,
    body: { auth: toAuth(toCredentials(settings, password)) },
    ...present({ timeoutMs }),
  };
  const answer = await http(request);
  const token = answer.headers.get('X-Subject-Token');
  if (answer.status !== 201 || token === null) {
    const who = describeUser(settings);
    const { message } = new RequestRefused(request, answer);
    const Refusal = answer.status === 401 ? LoginRefused : ServiceUnavailable;
    throw new Refusal('identity', request.url, `no token for ${who}: ${message}`, false);
  }
  const body = readBody(tokenBody, request, answer);
  return {
    token,
    expiresAt: Date.parse(body.token.expires_at),
    endpoints: body.token.catalog.flatMap(({ type, endpoints }) =>
      endpoints.map(({ interface: face, region, region_id: regionId, url }) => {
        return { type, interface: face, region: regionId ?? region ?? '', url };
      }),
    ),
  };
}

function toCredentials(settings: Settings['keystone'], password: string): Credentials {
  const { applicationCredentialId: id } = settings;
  if (id) return { method: 'application_credential', id, secret: password };
  return {
    method: 'password',
    user: settings.username,
    domain: settings.userDomainName,
    password,
    project: settings.projectName,
    projectDomain: settings.projectDomainName,
  };
}

/** The user that errors name. */
export function describeUser(settings: Settings['keystone']): string {
  const { username, projectName, applicationCredentialId } = settings;
  return applicationCredentialId
    ? `application credential '${applicationCredentialId}'`
    : `user '${username}' in project '${projectName}'`;
}

/** The URL, or the fault that there is none, or one in each of several regions. */
function findEndpoint(
  { endpoints }: OwnToken,
  serviceType: string,
  settings: Settings['keystone'],
): string | ServiceUnavailable {
  const { interface: wantedFace, regionName } = settings;
  const candidates = endpoints.filter(
    ({ type, interface: face, region }) =>
      type === serviceType &&
      face === wantedFace &&
      (regionName === undefined || region === regionName),
  );
  const regions = [...new Set(candidates.map(({ region }) => region))];
  if (regions.length > 1) return new SeveralRegions(serviceType, settings, regions.sort());
  return candidates[0]?.url ?? endpointMissing(serviceType, settings, endpoints);
}

/**
 * The catalog has the service in several regions: the order of a catalog chooses none, and
 * differs from type to type.
 */
export class SeveralRegions extends ServiceUnavailable {
  readonly regions: readonly string[];

  constructor(serviceType: string, settings: Settings['keystone'], regions: readonly string[]) {
    const where = regions.join(', ');
    const reason = `Keystone's catalog has ${settings.interface} endpoints for it in several regions, and regionName must be one of ${where}`;
    super(serviceType, identityUrl(settings), reason, false);
    this.regions = regions;
  }
}

function endpointMissing(
  serviceType: string,
  settings: Settings['keystone'],
  endpoints: OwnToken['endpoints'],
) {
  const where = settings.regionName ? ` in region '${settings.regionName}'` : '';
  const others = endpoints
    .filter(({ type }) => type === serviceType)
    .map(({ interface: face, region }) => `${face} in '${region}'`);
  const has = others.length > 0 ? ` (it has ${[...new Set(others)].sort().join(', ')})` : '';
  const reason = `Keystone's catalog has no ${settings.interface} endpoint for it${where}${has}`;
  return new ServiceUnavailable(serviceType, identityUrl(settings), reason, false);
}
