// What an administrator makes in the fake Keystone: services and endpoints of the catalog, users,
// projects and roles. The services that the demo cloud announces are listed among them.

import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { type Answer, type Ask, Refusal, type Routes } from '#local/openstack/http-service.ts';
import type { State } from '#local/openstack/state-file.ts';
import { domain, idOf, region } from './catalog.ts';
import type { TokenState, Tokens } from './tokens.ts';

const service = z.object({
  type: z.string().min(1),
  name: z.string().default(''),
  description: z.string().optional(),
  enabled: z.boolean().default(true),
});
const endpoint = z.object({
  service_id: z.string(),
  interface: z.enum(['public', 'internal', 'admin']),
  url: z.string().min(1),
  region_id: z.string(),
  enabled: z.boolean().default(true),
});
const change = z.object({ url: z.string().min(1).optional(), enabled: z.boolean().optional() });

export const registryState = z.object({
  services: z.array(service.extend({ id: z.string() })).default([]),
  endpoints: z.array(endpoint.extend({ id: z.string() })).default([]),
  /** Endpoints of announced services that were moved, by their ids. */
  moved: z.record(z.string(), z.object({ url: z.string(), enabled: z.boolean() })).default({}),
  roles: z.array(z.string()).default([]),
});
type RegistryState = z.infer<typeof registryState>;
type Service = RegistryState['services'][number];
type Endpoint = RegistryState['endpoints'][number];

const serviceNames: Readonly<Record<string, string>> = {
  identity: 'keystone',
  placement: 'placement',
  compute: 'nova',
  image: 'glance',
  accelerator: 'cyborg',
};
const firstRoles = ['admin', 'manager', 'member', 'reader', 'service'];

export class Registry {
  readonly state: State<RegistryState & TokenState>;
  readonly #announced: ReadonlyMap<string, string>;

  constructor(state: State<RegistryState & TokenState>, announced: ReadonlyMap<string, string>) {
    this.state = state;
    this.#announced = announced;
  }

  services(): readonly Service[] {
    const announced = [...this.#announced.keys()].map((type) => ({
      id: idOf('service', type),
      type,
      name: serviceNames[type] ?? type,
      enabled: true,
    }));
    return [...announced, ...this.state.now.services];
  }

  endpoints(): readonly Endpoint[] {
    const announced = [...this.#announced].flatMap(([type, url]) =>
      (['public', 'internal', 'admin'] as const).map((face) => {
        const id = idOf('endpoint', `${type} ${face}`);
        const one = { id, service_id: idOf('service', type), interface: face, region_id: region };
        return { ...one, url, enabled: true, ...this.state.now.moved[id] };
      }),
    );
    return [...announced, ...this.state.now.endpoints];
  }

  roles(): readonly string[] {
    return [...firstRoles, ...this.state.now.roles];
  }

  /** The catalog of a token: disabled endpoints are absent. */
  catalog(): readonly unknown[] {
    const endpoints = this.endpoints().filter(({ enabled }) => enabled);
    return this.services()
      .filter(({ enabled }) => enabled)
      .map(({ id, type, name }) => ({
        id,
        type,
        name,
        endpoints: endpoints
          .filter(({ service_id }) => service_id === id)
          .map(({ service_id: _, enabled: __, ...each }) => ({ ...each, region: each.region_id })),
      }));
  }
}

interface Context {
  readonly tokens: Tokens;
  readonly registry: Registry;
}

type MustBeAdmin<C> = (ask: Ask, context: C, action: string) => void;

/** The routes of administrators. @param mustBeAdmin throws Refusal for others */
export function registryRoutes<C extends Context>(mustBeAdmin: MustBeAdmin<C>): Routes<C> {
  const guarded = (action: string, handler: (ask: Ask, context: C) => Answer) => {
    return (ask: Ask, context: C) => {
      mustBeAdmin(ask, context, action);
      return handler(ask, context);
    };
  };
  const list = (kind: string, rows: (context: C) => readonly object[]) =>
    guarded(`list_${kind}`, (ask, context) => {
      const matches = (row: object) =>
        [...ask.query].every(([name, value]) => (row as Record<string, unknown>)[name] === value);
      return { status: 200, body: { [kind]: rows(context).filter(matches) } };
    });
  return {
    'GET /v3/services': list('services', ({ registry }) => registry.services()),
    'GET /v3/endpoints': list('endpoints', ({ registry }) => registry.endpoints()),
    'GET /v3/regions': list('regions', () => [{ id: region }]),
    'GET /v3/domains': list('domains', () => [{ ...domain, enabled: true }]),
    'GET /v3/roles': list('roles', ({ registry }) => registry.roles().map(named('role'))),
    'GET /v3/users': list('users', ({ tokens }) =>
      tokens.users().map(({ name }) => named('user')(name)),
    ),
    'GET /v3/projects': list('projects', ({ tokens }) => tokens.projects().map(named('project'))),
    'POST /v3/services': guarded('create_service', ({ body }, { registry: { state } }) => {
      const made = { ...read('service', service, body), id: newId() };
      state.now.services.push(made);
      return saved(state, 201, { service: made });
    }),
    'POST /v3/endpoints': guarded('create_endpoint', ({ body }, { registry }) => {
      const made = { ...read('endpoint', endpoint, body), id: newId() };
      if (!registry.services().some(({ id }) => id === made.service_id)) {
        throw new Refusal(400, `Could not find service: ${made.service_id}.`);
      }
      if (made.region_id !== region) {
        throw new Refusal(400, `Could not find region: ${made.region_id}.`);
      }
      registry.state.now.endpoints.push(made);
      return saved(registry.state, 201, { endpoint: made });
    }),
    'PATCH /v3/endpoints/{endpoint}': guarded('update_endpoint', (ask, { registry }) => {
      const { moved, endpoints } = registry.state.now;
      const { endpoint: id = '' } = ask.params;
      const changed = read('endpoint', change, ask.body);
      const endpoint = registry.endpoints().find((each) => each.id === id);
      if (!endpoint) throw new Refusal(404, `Could not find endpoint: ${id}.`);
      const { url = endpoint.url, enabled = endpoint.enabled } = changed;
      const made = endpoints.find((each) => each.id === id);
      if (made) Object.assign(made, { url, enabled });
      else moved[id] = { url, enabled };
      return saved(registry.state, 200, { endpoint: { ...endpoint, url, enabled } });
    }),
    'POST /v3/users': guarded('create_user', ({ body }, { tokens, registry: { state } }) => {
      const { name, password } = read('user', newUser, body);
      refuseTaken('user', name, tokens.users());
      state.now.users.push(name);
      if (password !== undefined) state.now.passwords[name] = password;
      return saved(state, 201, { user: named('user')(name) });
    }),
    'POST /v3/projects': guarded('create_project', ({ body }, { tokens, registry: { state } }) => {
      const { name } = read('project', newName, body);
      const all = tokens.projects().map((each) => ({ name: each }));
      refuseTaken('project', name, all);
      state.now.projects.push(name);
      return saved(state, 201, { project: named('project')(name) });
    }),
    'POST /v3/roles': guarded('create_role', ({ body }, { registry }) => {
      const { name } = read('role', newName, body);
      const all = registry.roles().map((each) => ({ name: each }));
      refuseTaken('role', name, all);
      registry.state.now.roles.push(name);
      return saved(registry.state, 201, { role: named('role')(name) });
    }),
    'GET /v3/projects/{project}/users/{user}/roles': guarded('list_grants', (ask, context) => {
      const { user, project } = assigned(ask, context);
      return { status: 200, body: { roles: (user.roles[project] ?? []).map(named('role')) } };
    }),
    'PUT /v3/projects/{project}/users/{user}/roles/{role}': guarded('create_grant', (ask, body) => {
      const { user, project } = assigned(ask, body);
      const role = find('role', body.registry.roles(), ask.params.role);
      const { state } = body.registry;
      if (user.roles[project]?.includes(role)) return { status: 204 };
      const { [user.name]: granted = {} } = state.now.grants;
      granted[project] = [...(granted[project] ?? []), role];
      state.now.grants[user.name] = granted;
      return { ...saved(state, 204), body: undefined };
    }),
  };
}

const newName = z.object({ name: z.string().min(1), domain_id: z.literal(domain.id).optional() });
const newUser = newName.extend({ password: z.string().optional() });

type Named = 'user' | 'project' | 'role';

const named = (kind: Named) => (name: string) => ({
  id: idOf(kind, name),
  name,
  // A role belongs to no domain.
  domain_id: kind === 'role' ? null : domain.id,
  enabled: true,
});

function assigned({ params }: Ask, { tokens }: Context) {
  const names = tokens.users().map(({ name }) => name);
  const name = find('user', names, params.user);
  const user = tokens.users().find((each) => each.name === name);
  if (!user) throw new Refusal(404, `Could not find user: ${name}.`);
  return { user, project: find('project', tokens.projects(), params.project) };
}

function find(kind: Named, names: readonly string[], id: string | undefined): string {
  const existingName = names.find((name) => idOf(kind, name) === id);
  if (existingName === undefined) throw new Refusal(404, `Could not find ${kind}: ${id}.`);
  return existingName;
}

function refuseTaken(kind: Named, name: string, all: readonly { readonly name: string }[]): void {
  if (!all.some((each) => each.name === name)) return;
  const duplicate = `Duplicate entry found with name ${name}`;
  throw new Refusal(409, `Conflict occurred attempting to store ${kind} - ${duplicate}.`);
}

function read<T>(kind: string, schema: z.ZodType<T>, body: unknown): T {
  const parsed = z.object({ [kind]: schema }).safeParse(body);
  if (!parsed.success) throw new Refusal(400, z.prettifyError(parsed.error));
  return parsed.data[kind] as T;
}

function saved(state: State<unknown>, status: number, body?: unknown): Answer {
  state.save();
  return { status, body };
}

function newId(): string {
  return randomUUID().replaceAll('-', '');
}
