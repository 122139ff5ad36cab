// A fake Placement over HTTP: providers in trees, inventories, traits, allocations and candidates,
// with Placement's generations and errors. It takes the microversions 1.0 to 1.39: ours uses 1.36
// and 1.37, and osc-placement 1.0 unless it is given another. Bodies are those of 1.36, except
// where an older client could not go on.

import * as z from 'zod';
import {
  type Answer,
  type Ask,
  findRoute,
  Refusal,
  type Routes,
  type Service,
  startService,
} from '#local/openstack/http-service.ts';
import { type Callers, createCallers } from '#local/openstack/keystone/callers.ts';
import { openState, type State } from '#local/openstack/state-file.ts';
import type { ListenOptions } from '#local/ports.ts';
import { removeAllocations, setAllocations } from './allocations.ts';
import {
  changedProvider,
  inventoriesAnswer,
  minorOf,
  newAllocations,
  newAllocationsBefore28,
  newest,
  newInventories,
  newProvider,
  newTraits,
  oldest,
  read,
  refusalAnswer,
  traitsAnswer,
  versionHeaders,
  viewProvider,
} from './bodies.ts';
import { allocationCandidates } from './candidates.ts';
import { isCustomName, standardClasses, standardTraits } from './names.ts';
import {
  addProvider,
  changeProvider,
  ensureName,
  knowsTrait,
  type PlacementState,
  placementState,
  providerOf,
  refuseOddTrait,
  removeProvider,
  type StoredProvider,
  setInventories,
  setTraits,
  treeOf,
  usedOf,
} from './state.ts';

interface FakePlacementOptions extends ListenOptions {
  readonly keystoneUrl: string;
  readonly stateFile?: string | undefined;
}

export async function startPlacement(options: FakePlacementOptions): Promise<Service> {
  const state = openState(placementState, options.stateFile);
  const callers = createCallers('placement', options.keystoneUrl);
  return startService({ ...options, answer: (ask) => answer(ask, state, callers) });
}

async function answer(ask: Ask, state: State<PlacementState>, callers: Callers): Promise<Answer> {
  if (ask.path === '/') return { status: 200, body: { versions: [version] } };
  const identified = await callers.identify(ask);
  if ('answer' in identified) return identified.answer;
  return answerTo(identified.caller.roles, ask, state);
}

/** Placement's answer to a caller with these roles. */
export async function answerTo(
  roles: readonly string[],
  ask: Ask,
  state: State<PlacementState>,
): Promise<Answer> {
  let minor = 0;
  try {
    minor = minorOf(ask);
    const route = findRoute(routes, ask.method, ask.path);
    if (!route) throw new Refusal(404, '');
    if (!('handler' in route)) throw new Refusal(405, 'The method is not allowed.');
    if (!roles.includes('admin') && !roles.includes('service')) {
      throw new Refusal(403, 'Policy does not allow this to be performed.');
    }
    const answered = await route.handler({ ...ask, params: route.params }, state.now);
    if (ask.method !== 'GET') state.save();
    return { ...answered, headers: { ...versionHeaders(minor), ...answered.headers } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refusalAnswer(error, ask, minor);
  }
}

const version = {
  id: 'v1.0',
  max_version: newest,
  min_version: oldest,
  status: 'CURRENT',
  links: [{ rel: 'self', href: '' }],
};

const routes: Routes<PlacementState> = {
  'GET /resource_providers': (ask, state) => {
    const rows = listProviders(ask.query, state).map((each) => viewProvider(state, each));
    return { status: 200, body: { resource_providers: rows } };
  },
  'POST /resource_providers': (ask, state) => {
    const { uuid, name, parent_provider_uuid } = read(newProvider, ask);
    const request = { uuid: uuid ?? crypto.randomUUID(), name, parent: parent_provider_uuid };
    const added = addProvider(state, request);
    const headers = { Location: `/resource_providers/${added.uuid}` };
    if (minorOf(ask) < 20) return { status: 201, headers };
    return { status: 200, headers, body: viewProvider(state, added) };
  },
  'GET /resource_providers/{uuid}': (ask, state) => ({
    status: 200,
    body: viewProvider(state, named(ask, state)),
  }),
  'PUT /resource_providers/{uuid}': (ask, state) => {
    const provider = named(ask, state);
    const { name, parent_provider_uuid: parent } = read(changedProvider, ask);
    changeProvider(state, provider, { name, parent }, minorOf(ask) >= 37);
    return { status: 200, body: viewProvider(state, provider) };
  },
  'DELETE /resource_providers/{uuid}': (ask, state) => {
    removeProvider(state, ask.params.uuid ?? '');
    return { status: 204 };
  },

  'GET /resource_providers/{uuid}/inventories': (ask, state) =>
    inventoriesAnswer(named(ask, state)),
  'PUT /resource_providers/{uuid}/inventories': (ask, state) => {
    const provider = named(ask, state);
    const { resource_provider_generation, inventories } = read(newInventories, ask);
    setInventories(state, provider, resource_provider_generation, inventories);
    return inventoriesAnswer(provider);
  },

  'GET /resource_providers/{uuid}/traits': (ask, state) => traitsAnswer(named(ask, state)),
  'PUT /resource_providers/{uuid}/traits': (ask, state) => {
    const { resource_provider_generation, traits } = read(newTraits, ask);
    const provider = named(ask, state);
    setTraits(state, provider, resource_provider_generation, traits);
    return traitsAnswer(provider);
  },

  'GET /resource_providers/{uuid}/usages': (ask, state) => {
    const { uuid, inventories, generation } = named(ask, state);
    const usages = Object.keys(inventories).map((name) => [name, usedOf(state, uuid, name)]);
    const body = { resource_provider_generation: generation, usages: Object.fromEntries(usages) };
    return { status: 200, body };
  },
  'GET /resource_providers/{uuid}/allocations': (ask, state) => {
    const { uuid, generation } = named(ask, state);
    const held = Object.entries(state.consumers).flatMap(([consumerUuid, consumer]) => {
      const resources = consumer.allocations[uuid];
      const row = { resources, consumer_generation: consumer.generation };
      return resources ? [[consumerUuid, row] as const] : [];
    });
    const body = {
      allocations: Object.fromEntries(held),
      resource_provider_generation: generation,
    };
    return { status: 200, body };
  },

  'GET /traits': (_ask, state) => ({
    status: 200,
    body: { traits: [...standardTraits, ...state.traits] },
  }),
  'GET /traits/{name}': (ask, state) => {
    const name = ask.params.name ?? '';
    if (!knowsTrait(state, name)) throw new Refusal(404, `No such trait(s): ${name}.`);
    return { status: 204 };
  },
  'PUT /traits/{name}': (ask, state) => {
    const name = ask.params.name ?? '';
    refuseOddTrait(name);
    return { status: ensureName(state.traits, name) ? 201 : 204 };
  },
  'GET /resource_classes': (_ask, state) => {
    const names = [...standardClasses, ...state.classes];
    return { status: 200, body: { resource_classes: names.map((name) => ({ name })) } };
  },
  'PUT /resource_classes/{name}': (ask, state) => {
    const name = ask.params.name ?? '';
    if (!isCustomName(name)) {
      const rule = "does not match '^CUSTOM_[A-Z0-9_]+$'";
      throw new Refusal(400, `JSON does not validate: '${name}' ${rule}`);
    }
    return { status: ensureName(state.classes, name) ? 201 : 204 };
  },

  'GET /allocation_candidates': (ask, state) => ({
    status: 200,
    body: allocationCandidates(state, ask.query),
  }),
  'GET /allocations/{uuid}': (ask, state) => {
    const consumer = state.consumers[ask.params.uuid ?? ''];
    if (!consumer) return { status: 200, body: { allocations: {} } };
    const { project_id, user_id, generation } = consumer;
    const allocations = Object.entries(consumer.allocations).map(([uuid, resources]) => [
      uuid,
      { resources, generation: providerOf(state, uuid).generation },
    ]);
    const held = { allocations: Object.fromEntries(allocations), project_id, user_id };
    return { status: 200, body: { ...held, consumer_generation: generation } };
  },
  'PUT /allocations/{uuid}': (ask, state) => {
    const uuid = ask.params.uuid ?? '';
    if (!z.guid().safeParse(uuid).success) {
      throw new Refusal(400, `Malformed consumer_uuid: ${uuid}`);
    }
    const generation = state.consumers[uuid]?.generation ?? null;
    const { consumer_generation, allocations, project_id, user_id } =
      minorOf(ask) < 28
        ? { ...read(newAllocationsBefore28, ask), consumer_generation: generation }
        : read(newAllocations, ask);
    const amounts = Object.entries(allocations).map(([key, row]) => [key, row.resources]);
    const consumer = { uuid, project_id, user_id, generation: consumer_generation };
    setAllocations(state, { ...consumer, allocations: Object.fromEntries(amounts) });
    return { status: 204 };
  },
  'DELETE /allocations/{uuid}': (ask, state) => {
    removeAllocations(state, ask.params.uuid ?? '');
    return { status: 204 };
  },
};

function named(ask: Ask, state: PlacementState): StoredProvider {
  return providerOf(state, ask.params.uuid ?? '');
}

function listProviders(query: URLSearchParams, state: PlacementState): StoredProvider[] {
  let rows = Object.values(state.providers);
  for (const [key, value] of query) {
    if (key === 'in_tree' && z.guid().safeParse(value).success) {
      const tree = treeOf(state, value);
      rows = rows.filter((each) => tree.includes(each));
    } else if (key === 'name' || key === 'uuid') rows = rows.filter((each) => each[key] === value);
    else
      throw new Refusal(
        400,
        `Invalid query string parameters: ${key}=${value} is not supported by the fake.`,
      );
  }
  return rows;
}
