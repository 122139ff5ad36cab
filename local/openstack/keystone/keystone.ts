// A fake Keystone over HTTP: logins, tokens and the catalog of the demo cloud, which begins as
// catalog.ts has it; registry.ts adds services, endpoints, users, projects and roles.

import * as z from 'zod';
import {
  type Answer,
  type Ask,
  findRoute,
  header,
  Refusal,
  type Routes,
  type Service,
  startService,
} from '#local/openstack/http-service.ts';
import { openState } from '#local/openstack/state-file.ts';
import type { ListenOptions } from '#local/ports.ts';
import { domain, idOf, password, rolesOf } from './catalog.ts';
import { Registry, registryRoutes, registryState } from './registry.ts';
import {
  accessRulesOf,
  authenticationNeeded,
  describeToken,
  type KnownToken,
  Tokens,
  tokenState,
} from './tokens.ts';

export interface FakeKeystone extends Service {
  /** Adds a service to the catalog, or moves it. Tokens described later have the change. */
  announce(serviceType: string, url: string): void;
}

interface FakeKeystoneOptions extends ListenOptions {
  readonly stateFile?: string | undefined;
  /** The catalog, by service type; {@link FakeKeystone.announce} adds to it. */
  readonly endpoints?: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
}

interface Context {
  readonly tokens: Tokens;
  readonly endpoints: ReadonlyMap<string, string>;
  readonly registry: Registry;
}

/** The returned url ends in /v3, as in the catalog. */
export async function startKeystone(options: FakeKeystoneOptions): Promise<FakeKeystone> {
  const state = openState(tokenState.extend(registryState.shape), options.stateFile);
  const endpoints = new Map(Object.entries(options.endpoints ?? {}));
  const tokens = new Tokens(state, options.clock ?? Date.now);
  const context = { tokens, endpoints, registry: new Registry(state, endpoints) };
  const service = await startService({
    host: options.host,
    port: options.port,
    answer: async (ask) => answer(ask, context),
  });
  const url = `${service.url}/v3`;
  endpoints.set('identity', url);
  return { ...service, url, announce: (type, where) => void endpoints.set(type, where) };
}

/** The credentials of a service for the fake Keystone. */
export function serviceCredentials(
  user: 'cyborg' | 'nova' | 'placement' | 'glance',
  keystoneUrl: string,
) {
  return {
    url: keystoneUrl,
    publicUrl: keystoneUrl,
    username: user,
    password,
    projectName: 'service',
    userDomainName: domain.name,
    projectDomainName: domain.name,
    tokenCacheSeconds: { admin: 60 },
    interface: 'internal',
  } as const;
}

async function answer(ask: Ask, context: Context): Promise<Answer> {
  try {
    const route = findRoute(routes, ask.method, ask.path);
    // Not in Keystone's own words: its web framework answers unknown paths.
    if (!route) return { status: 404, body: '<!doctype html><title>404 Not Found</title>' };
    if (!('handler' in route)) throw new Refusal(405, 'The method is not allowed.');
    const answered = await route.handler({ ...ask, params: route.params }, context);
    return { ...answered, headers: { Vary: 'X-Auth-Token', ...answered.headers } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const title = titles[error.status] ?? 'Error';
    return {
      status: error.status,
      headers: {
        Vary: 'X-Auth-Token',
        ...(error.status === 401 && {
          'WWW-Authenticate': `Keystone uri="${context.endpoints.get('identity')}"`,
        }),
      },
      body: { error: { code: error.status, message: error.message, title } },
    };
  }
}

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
};

const routes: Routes<Context> = {
  'GET /': (_ask, context) => ({
    status: 300,
    headers: { Location: `${context.endpoints.get('identity')}/` },
    body: { versions: { values: [version(context)] } },
  }),
  'GET /v3': (_ask, context) => ({ status: 200, body: { version: version(context) } }),
  'POST /v3/auth/tokens': (ask, context) => {
    const newToken = context.tokens.logIn(ask.body);
    return { ...tokenAnswer(newToken, ask, context), status: 201 };
  },
  'GET /v3/auth/tokens': showToken,
  'HEAD /v3/auth/tokens': showToken,
  'DELETE /v3/auth/tokens': (ask, context) => {
    context.tokens.revoke(subjectOf(ask, context, 'revoke_token').token);
    return { status: 204 };
  },
  'POST /v3/users/{user}/password': ({ body, params }, { tokens }) => {
    const user = tokens.users().find(({ name }) => idOf('user', name) === params.user);
    const parsed = passwordChange.safeParse(body);
    if (!parsed.success) throw new Refusal(400, 'Expecting to find user in request body.');
    const { password: next, original_password: original } = parsed.data.user;
    if (!user || !tokens.changePassword(user, original, next)) {
      throw new Refusal(401, authenticationNeeded);
    }
    return { status: 204 };
  },
  'GET /v3/auth/catalog': (ask, context) => {
    callerOf(ask, context);
    return { status: 200, body: { catalog: context.registry.catalog() } };
  },
  // Keystone shows other projects and users to administrators only.
  'GET /v3/projects/{project}': (ask, context) => {
    const { scope } = callerOf(ask, context);
    const project = context.tokens
      .projects()
      .find((name) => idOf('project', name) === ask.params.project);
    const isOwn = 'project' in scope && scope.project === project;
    if (!isOwn) mustBeAdmin(ask, context, 'get_project');
    if (ask.params.project === domain.id) {
      return { status: 200, body: { project: { ...domain, is_domain: true } } };
    }
    if (project === undefined) throw new Refusal(404, 'Could not find project.');
    return { status: 200, body: { project: { id: idOf('project', project), name: project } } };
  },
  'GET /v3/auth/projects': (ask, context) => {
    const { user } = callerOf(ask, context);
    const own = context.tokens.projects().filter((name) => user.roles[name]);
    return {
      status: 200,
      body: { projects: own.map((name) => ({ id: idOf('project', name), name })) },
    };
  },
  'GET /v3/users/{user}': (ask, context) => {
    const { user } = callerOf(ask, context);
    const subject = context.tokens
      .users()
      .find(({ name }) => idOf('user', name) === ask.params.user);
    if (user.name !== subject?.name) mustBeAdmin(ask, context, 'get_user');
    if (!subject) throw new Refusal(404, 'Could not find user.');
    return { status: 200, body: { user: { id: idOf('user', subject.name), name: subject.name } } };
  },
  ...registryRoutes(mustBeAdmin),
};

const passwordChange = z.object({
  user: z.object({ password: z.string(), original_password: z.string() }),
});

function showToken(ask: Ask, context: Context): Answer {
  return tokenAnswer(subjectOf(ask, context, 'validate_token'), ask, context);
}

function tokenAnswer(newToken: KnownToken, ask: Ask, context: Context): Answer {
  // An unscoped token has no catalog.
  const isScoped = Object.keys(newToken.scope).length > 0;
  const hasCatalog = isScoped && !ask.query.has('nocatalog');
  return {
    status: 200,
    headers: { 'X-Subject-Token': newToken.token },
    body: {
      token: {
        ...describeToken(newToken),
        ...(hasCatalog && { catalog: context.registry.catalog() }),
      },
    },
  };
}

/** The caller. @throws Refusal 401 */
function callerOf(ask: Ask, { tokens }: Context): KnownToken {
  const caller = tokens.find(header(ask, 'X-Auth-Token') ?? '', { allowExpired: false });
  if (!caller) throw new Refusal(401, authenticationNeeded);
  return caller;
}

/** @throws Refusal 401; 403 unless the caller has the role admin */
function mustBeAdmin(ask: Ask, context: Context, action: string): void {
  const { user, scope } = callerOf(ask, context);
  if (rolesOf(user, scope).includes('admin')) return;
  const rule = `identity:${action}`;
  throw new Refusal(403, `You are not authorized to perform the requested action: ${rule}.`);
}

/** The token in question. @throws Refusal 401, 403, 404 */
function subjectOf(ask: Ask, context: Context, action: string): KnownToken {
  const caller = callerOf(ask, context);
  const token = header(ask, 'X-Subject-Token');
  if (token === undefined) throw new Refusal(404, 'No token in the request');
  const allowExpired = ['1', 'true'].includes(ask.query.get('allow_expired') ?? '');
  const subject = context.tokens.find(token, { allowExpired });
  if (!subject) throw new Refusal(404, 'Could not recognize Fernet token');
  const isUnderstood = Number(header(ask, 'OpenStack-Identity-Access-Rules') ?? 0) >= 1;
  if (accessRulesOf(subject) && !isUnderstood) throw new Refusal(404, 'Failed to validate token');
  const roles = rolesOf(caller.user, caller.scope);
  if (roles.includes('admin') || roles.includes('service') || token === caller.token) {
    return subject;
  }
  const rule = `identity:${action}`;
  throw new Refusal(403, `You are not authorized to perform the requested action: ${rule}.`);
}

function version({ endpoints }: Context) {
  return {
    id: 'v3.14',
    status: 'stable',
    updated: '2020-04-07T00:00:00Z',
    links: [{ rel: 'self', href: `${endpoints.get('identity')}/` }],
    'media-types': [
      { base: 'application/json', type: 'application/vnd.openstack.identity-v3+json' },
    ],
  };
}
