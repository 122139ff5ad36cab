// A fake Nova over HTTP: external events with Nova's codes, servers that boot as in a real Nova
// (build.ts), and the part of flavors and hosts that this needs. Paths that begin with an
// underscore are not Nova's: they show a demo or a test the state inside.

import type { TokenIdentity } from '#core/clients/openstack/keystone/keystone.ts';
import { computeDiscovery, computeMinorMax, discoveryAnswer } from '#local/openstack/discovery.ts';
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
import { type Callers, createCallers } from '#local/openstack/keystone/callers.ts';
import { openState, type State } from '#local/openstack/state-file.ts';
import type { ListenOptions } from '#local/ports.ts';
import { createAcceleratorApi } from './accelerators.ts';
import { aggregateRoutes } from './aggregates.ts';
import {
  allow,
  extraSpecsBody,
  flavorBody,
  hostBody,
  read,
  rebootBody,
  serverBody,
} from './bodies.ts';
import { type Builder, createBuilder } from './build.ts';
import { takeEvents, Waiters } from './events.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import {
  type Flavor,
  type NovaState,
  novaState,
  profileName,
  type ReceivedEvent,
  type Server,
  viewServer,
  visibleServer,
} from './state.ts';

export interface FakeNovaOptions extends ListenOptions {
  readonly keystoneUrl: string;
  readonly stateFile?: string | undefined;
  readonly arqBindingTimeoutMs?: number;
  /** The time between conductor and compute; see build.ts. */
  readonly handOverMs?: number;
}

export interface FakeNova extends Service {
  /** The events posted to os-server-external-events, oldest first. */
  events(): readonly ReceivedEvent[];
}

interface Nova {
  readonly state: State<NovaState>;
  readonly callers: Callers;
  readonly waiters: Waiters;
  readonly scheduler: Scheduler;
  readonly builder: Builder;
}

interface Context extends Nova {
  readonly caller: TokenIdentity;
  readonly userToken: string;
  /** 82 for 2.82. */
  readonly minor: number;
}

/** The returned url ends in /v2.1, as in the catalog. */
export async function startNova(options: FakeNovaOptions): Promise<FakeNova> {
  const state = openState(novaState, options.stateFile);
  const callers = createCallers('nova', options.keystoneUrl);
  const waiters = new Waiters();
  const scheduler = createScheduler(callers.keystone, state.now);
  const { arqBindingTimeoutMs = 300_000, handOverMs = 50 } = options;
  const parts = { state, keystone: callers.keystone, scheduler, waiters };
  const builder = createBuilder({ ...parts, arqBindingTimeoutMs, handOverMs });
  const nova = { state, callers, waiters, scheduler, builder };
  resumeServers(nova);
  const service = await startService({ ...options, answer: (ask) => answer(ask, nova) });
  return {
    url: `${service.url}/v2.1`,
    events: () => state.now.events,
    stop: () => {
      builder.stop();
      return service.stop();
    },
  };
}

/** Continues servers in progress, as nova-compute does after a restart. */
function resumeServers({ state, builder }: Nova): void {
  for (const server of Object.values(state.now.servers)) {
    if (server.taskState === 'deleting') {
      void builder.remove(server);
    } else if (server.status === 'BUILD')
      Object.assign(server, { status: 'ERROR', taskState: null });
    else if (server.status.endsWith('REBOOT')) {
      Object.assign(server, { status: 'ACTIVE', taskState: null });
    }
  }
  state.save();
}

async function answer(ask: Ask, nova: Nova): Promise<Answer> {
  const discovered = discoveryAnswer(computeDiscovery, ask);
  if (discovered) return discovered;
  const identified = await nova.callers.identify(ask);
  if ('answer' in identified) return identified.answer;
  const minor = wantedMinor(ask);
  const headers = { 'OpenStack-API-Version': `compute 2.${minor}`, Vary: 'OpenStack-API-Version' };
  try {
    if (minor > computeMinorMax) {
      const range = `Minimum is 2.1 and maximum is 2.${computeMinorMax}.`;
      throw new Refusal(406, `Version 2.${minor} is not supported by the API. ${range}`);
    }
    const route = findRoute(routes, ask.method, ask.path.replace(/^\/v2\.1/, ''));
    if (!route) throw new Refusal(404, 'The resource could not be found.');
    if (!('handler' in route)) throw new Refusal(405, 'The method is not allowed.');
    const userToken = header(ask, 'X-Auth-Token') ?? '';
    const context = { ...nova, caller: identified.caller, userToken, minor };
    return { headers, ...(await route.handler({ ...ask, params: route.params }, context)) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const key = faultKeys[error.status] ?? 'computeFault';
    const body = { [key]: { code: error.status, message: error.message } };
    return { status: error.status, headers, body };
  }
}

function wantedMinor(ask: Ask): number {
  const entries = (header(ask, 'OpenStack-API-Version') ?? '').split(',');
  const minors = entries.flatMap((text) => /^\s*compute\s+2\.(\d+)\s*$/.exec(text)?.[1] ?? []);
  const old = /^2\.(\d+)$/.exec(header(ask, 'X-OpenStack-Nova-API-Version') ?? '')?.[1];
  return Number(minors.at(-1) ?? old ?? 1);
}

const faultKeys: Readonly<Record<number, string>> = {
  400: 'badRequest',
  403: 'forbidden',
  404: 'itemNotFound',
  409: 'conflictingRequest',
};

const routes: Routes<Context> = {
  'POST /os-server-external-events': (ask, { caller, state, waiters, minor }) => {
    allow(caller, ['admin', 'service'], 'os-server-external-events:create');
    const taken = takeEvents(state.now, waiters, ask.body, minor);
    state.save();
    return taken;
  },

  'GET /servers': (ask, { caller, state }) => {
    const servers = listServers(ask, state.now, caller).map(({ id, name }) => ({ id, name }));
    return { status: 200, body: { servers } };
  },
  'GET /servers/detail': (ask, { caller, state }) => {
    const servers = listServers(ask, state.now, caller).map((each) => viewServer(each, caller));
    return { status: 200, body: { servers } };
  },
  'GET /servers/{id}': (ask, context) => {
    return { status: 200, body: { server: viewServer(namedServer(ask, context), context.caller) } };
  },
  'POST /servers': createServer,
  'DELETE /servers/{id}': (ask, context) => {
    const server = namedServer(ask, context);
    server.taskState = 'deleting';
    context.state.save();
    void context.builder.remove(server, context.userToken);
    return { status: 204 };
  },
  'POST /servers/{id}/action': (ask, context) => {
    const server = namedServer(ask, context);
    const { type } = read(rebootBody, ask).reboot;
    if (server.status !== 'ACTIVE') {
      const reason = `while it is in vm_state ${server.status.toLowerCase()}`;
      throw new Refusal(409, `Cannot 'reboot' instance ${server.id} ${reason}`);
    }
    server.status = type === 'HARD' ? 'HARD_REBOOT' : 'REBOOT';
    context.state.save();
    void context.builder.reboot(server, context.userToken);
    return { status: 202 };
  },

  ...aggregateRoutes,
  'GET /flavors': listFlavors,
  'GET /flavors/detail': listFlavors,
  'POST /flavors': (ask, { caller, state }) => {
    allow(caller, ['admin'], 'os-flavor-manage:create');
    const requested = read(flavorBody, ask).flavor;
    const flavor = { ...requested, id: requested.id ?? crypto.randomUUID(), extra_specs: {} };
    for (const other of Object.values(state.now.flavors)) {
      const is = other.id === flavor.id ? `ID ${flavor.id}` : `name ${flavor.name}`;
      if (other.id !== flavor.id && other.name !== flavor.name) continue;
      throw new Refusal(409, `Flavor with ${is} already exists.`);
    }
    state.now.flavors[flavor.id] = flavor;
    state.save();
    return { status: 200, body: { flavor } };
  },
  'GET /flavors/{id}/os-extra_specs': (ask, context) => {
    return { status: 200, body: { extra_specs: namedFlavor(ask, context).extra_specs } };
  },
  'POST /flavors/{id}/os-extra_specs': (ask, context) => {
    allow(context.caller, ['admin'], 'os-flavor-extra-specs:create');
    const { extra_specs } = read(extraSpecsBody, ask);
    Object.assign(namedFlavor(ask, context).extra_specs, extra_specs);
    context.state.save();
    return { status: 200, body: { extra_specs } };
  },

  // The start of a nova-compute. Not an API of Nova. The same name again changes nothing.
  'POST /hosts': async (ask, { caller, state, scheduler }) => {
    allow(caller, ['admin'], 'os-hosts');
    const { name } = read(hostBody, ask);
    const provider_uuid = await scheduler.addHost(name);
    state.now.hosts[name] = provider_uuid;
    state.save();
    return { status: 200, body: { host: { name, provider_uuid } } };
  },
  'GET /_events': (_ask, { state }) => ({ status: 200, body: { events: state.now.events } }),
  'GET /_servers/{id}': (ask, context) => {
    return { status: 200, body: { server: namedServer(ask, context) } };
  },
};

function listFlavors(_ask: Ask, { state }: Context): Answer {
  return { status: 200, body: { flavors: Object.values(state.now.flavors) } };
}

async function createServer(ask: Ask, context: Context): Promise<Answer> {
  const { caller, state, builder, callers, userToken } = context;
  allow(caller, ['member', 'admin'], 'servers:create');
  const { name, flavorRef } = read(serverBody, ask).server;
  const flavor = state.now.flavors[flavorRef];
  if (!flavor || caller.projectId === undefined) {
    throw new Refusal(400, `Flavor ${flavorRef} could not be found.`);
  }
  const at = new Date().toISOString();
  const server: Server = {
    id: crypto.randomUUID(),
    name,
    projectId: caller.projectId,
    userId: caller.userId,
    flavor: structuredClone(flavor),
    status: 'BUILD',
    taskState: 'scheduling',
    host: null,
    fault: null,
    createdAt: at,
    updatedAt: at,
    arqs: [],
  };
  const profile = profileName(server);
  const api = createAcceleratorApi(callers.keystone, userToken);
  const profileGroups = profile === undefined ? [] : api.profileGroups('nova-api', profile);
  const groups = await Promise.resolve(profileGroups).catch((error: Error) => {
    throw new Refusal(400, `Device profile name ${profile}: ${error.message}`);
  });
  state.now.servers[server.id] = server;
  state.save();
  void builder.build(server, groups, userToken);
  return { status: 202, body: { server: { id: server.id, 'OS-DCF:diskConfig': 'MANUAL' } } };
}

/** The filters are for administrators; Nova ignores them in the requests of others. */
function listServers({ query }: Ask, state: NovaState, caller: TokenIdentity): Server[] {
  if (!caller.roles.includes('admin')) {
    if (query.has('all_tenants')) allow(caller, ['admin'], 'servers:index:get_all_tenants');
    return Object.values(state.servers).filter(({ id }) => visibleServer(state, id, caller));
  }
  const servers = query.get('deleted') === 'true' ? state.deleted : state.servers;
  const uuid = query.get('uuid');
  return Object.values(servers).filter(({ id }) => uuid === null || id === uuid);
}

function namedServer(ask: Ask, { state, caller }: Context): Server {
  const id = ask.params.id ?? '';
  const server = visibleServer(state.now, id, caller);
  if (!server) throw new Refusal(404, `Instance ${id} could not be found.`);
  return server;
}

function namedFlavor(ask: Ask, { state }: Context): Flavor {
  const id = ask.params.id ?? '';
  const flavor = state.now.flavors[id];
  if (!flavor) throw new Refusal(404, `Flavor ${id} could not be found.`);
  return flavor;
}
