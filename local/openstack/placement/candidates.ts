// GET /allocation_candidates of the fake Placement. Simpler than Placement in two ways: candidates
// lie in one tree (no sharing through aggregates), and one provider serves the unsuffixed group.

import { Refusal } from '#local/openstack/http-service.ts';
import { faultOf } from './allocations.ts';
import {
  capacityOf,
  knowsClass,
  knowsTrait,
  type PlacementState,
  rootOf,
  type StoredProvider,
  usedOf,
} from './state.ts';

interface Traits {
  readonly required: readonly string[];
  readonly forbidden: readonly string[];
}

interface Group extends Traits {
  readonly suffix: string;
  readonly resources: Record<string, number>;
}

interface Choice {
  readonly group: Group;
  readonly provider: StoredProvider;
}

const candidatesMax = 1000;

export function allocationCandidates(state: PlacementState, query: URLSearchParams): unknown {
  const groups = readGroups(state, query);
  const suffixed = groups.filter(({ suffix }) => suffix !== '');
  const policy = query.get('group_policy');
  if (suffixed.length > 1 && policy === null) {
    const rule = 'The "group_policy" parameter is required when specifying more than one';
    throw new Refusal(400, `${rule} "resources{N}" parameter.`);
  }
  const limit = Math.min(Number(query.get('limit') ?? candidatesMax), candidatesMax);
  const choices: Choice[][] = [];
  const ofRoot = traitsOf(state, query.get('root_required') ?? '');
  const roots = Object.values(state.providers).filter(({ parent }) => parent === null);
  for (const root of roots.filter((each) => hasTraits(each, ofRoot))) {
    const tree = Object.values(state.providers).filter(
      ({ uuid }) => rootOf(state, uuid).uuid === root.uuid,
    );
    collect(state, tree, groups, policy === 'isolate', [], choices, limit);
  }
  const chosenRoots = new Set(
    choices.flatMap(([first]) => (first ? [rootOf(state, first.provider.uuid).uuid] : [])),
  );
  return {
    allocation_requests: choices.map(describeRequest),
    provider_summaries: Object.fromEntries(
      Object.values(state.providers)
        .filter(({ uuid }) => chosenRoots.has(rootOf(state, uuid).uuid))
        .map((provider) => [provider.uuid, summary(state, provider)]),
    ),
  };
}

/** All combinations that give each group a provider of the tree. */
function collect(
  state: PlacementState,
  tree: readonly StoredProvider[],
  groups: readonly Group[],
  isIsolated: boolean,
  chosen: Choice[],
  choices: Choice[][],
  limit: number,
): void {
  if (choices.length >= limit) return;
  const [group, ...others] = groups;
  if (!group) {
    choices.push(chosen);
    return;
  }
  for (const provider of tree) {
    const isTaken = chosen.some(
      (other) => other.provider === provider && other.group.suffix !== '' && group.suffix !== '',
    );
    if (isIsolated && isTaken) continue;
    const next = [...chosen, { group, provider }];
    if (hasTraits(provider, group) && fits(state, provider, next)) {
      collect(state, tree, others, isIsolated, next, choices, limit);
    }
  }
}

function hasTraits({ traits }: StoredProvider, { required, forbidden }: Traits): boolean {
  return (
    required.every((name) => traits.includes(name)) &&
    !forbidden.some((name) => traits.includes(name))
  );
}

/** Several groups may use the same provider, so the sum of their amounts must fit. */
function fits(
  state: PlacementState,
  provider: StoredProvider,
  choices: readonly Choice[],
): boolean {
  return Object.entries(takenFrom(provider, choices)).every(
    ([name, amount]) => faultOf(state, provider, name, amount) === undefined,
  );
}

function takenFrom(provider: StoredProvider, choices: readonly Choice[]): Record<string, number> {
  const taken: Record<string, number> = {};
  for (const { group } of choices.filter((choice) => choice.provider === provider)) {
    for (const [name, amount] of Object.entries(group.resources)) {
      taken[name] = (taken[name] ?? 0) + amount;
    }
  }
  return taken;
}

function describeRequest(choices: readonly Choice[]): unknown {
  const providers = [...new Set(choices.map(({ provider }) => provider))];
  return {
    allocations: Object.fromEntries(
      providers.map((each) => [each.uuid, { resources: takenFrom(each, choices) }]),
    ),
    mappings: Object.fromEntries(
      choices.map(({ group, provider }) => [group.suffix, [provider.uuid]]),
    ),
  };
}

function summary(state: PlacementState, provider: StoredProvider): unknown {
  return {
    resources: Object.fromEntries(
      Object.entries(provider.inventories).map(([name, inventory]) => [
        name,
        { capacity: capacityOf(inventory), used: usedOf(state, provider.uuid, name) },
      ]),
    ),
    traits: provider.traits,
    parent_provider_uuid: provider.parent,
    root_provider_uuid: rootOf(state, provider.uuid).uuid,
  };
}

function readGroups(state: PlacementState, query: URLSearchParams): Group[] {
  const groups = new Map<string, Group>();
  const traits = new Map<string, string>();
  for (const [key, value] of query) {
    const [, kind, suffix = ''] = /^(resources|required)([a-zA-Z0-9_-]{1,64})?$/.exec(key) ?? [];
    if (kind === 'resources') {
      groups.set(suffix, {
        suffix,
        resources: readResources(state, value),
        required: [],
        forbidden: [],
      });
    } else if (kind === 'required') traits.set(suffix, value);
    else if (!['group_policy', 'limit', 'root_required'].includes(key)) {
      throw new Refusal(
        400,
        `Invalid query string parameters: '${key}' is not supported by the fake.`,
      );
    }
  }
  if (groups.size === 0) {
    const reason = 'There must be at least one resources or resources[$S] parameter.';
    throw new Refusal(400, reason, 'placement.query.missing_value');
  }
  for (const [suffix, value] of traits) {
    const group = groups.get(suffix);
    if (!group) {
      const rule =
        'Resourceless suffixed group request should be specified in `same_subtree` query param';
      throw new Refusal(400, `${rule}: bad group(s) - ['${suffix}'].`, 'placement.query.bad_value');
    }
    groups.set(suffix, { ...group, ...traitsOf(state, value) });
  }
  return [...groups.values()];
}

/** @param value such as `CUSTOM_A,!CUSTOM_B` */
function traitsOf(state: PlacementState, value: string): Traits {
  const texts = value.split(',').filter((text) => text !== '');
  const names = texts.map((text) => text.replace(/^!/, ''));
  const unknown = names.find((name) => !knowsTrait(state, name));
  if (unknown) throw new Refusal(400, `No such trait(s): ${unknown}.`);
  const isForbidden = (name: string) => texts.includes(`!${name}`);
  return {
    required: names.filter((name) => !isForbidden(name)),
    forbidden: names.filter(isForbidden),
  };
}

function readResources(state: PlacementState, text: string): Record<string, number> {
  const resources: Record<string, number> = {};
  for (const part of text.split(',')) {
    const [name = '', amount = ''] = part.split(':');
    if (!/^[1-9][0-9]*$/.test(amount)) {
      const rule = `Requested resource ${name} expected positive integer amount.`;
      throw new Refusal(400, `${rule} Got: ${amount}.`);
    }
    if (!knowsClass(state, name)) {
      const reason = `No such resource class ${name}.`;
      throw new Refusal(400, `Invalid resource class in resources parameter: ${reason}`);
    }
    resources[name] = Number(amount);
  }
  return resources;
}
