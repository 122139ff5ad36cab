// A client for Placement: resource providers of devices, with inventories and traits. Each write
// carries the generation of the provider that was read; Placement refuses it if another writer
// (Nova, an operator) has changed the provider, and the caller reads again.

import * as z from 'zod';
import { RequestRefused, readBody, saysAbsent } from '#core/clients/http.ts';
import type { HeldInventories } from '#core/domain/placement/provider-tree.ts';
import {
  allocationsBody,
  createPlacementReads,
  type PlacementOptions,
  type PlacementReads,
  placementCalls,
  type Resources,
  refusalOf,
} from './placement-reads.ts';
import type { ServiceCall } from './service-calls.ts';

/** Victoria; before it, a provider cannot leave its tree. */
const movingMicroversion = '1.37';

interface NamedProvider {
  readonly uuid: string;
  readonly name: string;
  /** Without a parent it is the root of a tree. */
  readonly parentUuid?: string;
}

export interface Provider extends NamedProvider {
  readonly generation: number;
  readonly rootUuid: string;
}

/** The provider has changed since it was read. */
export class GenerationConflict extends RequestRefused {
  override readonly name = 'GenerationConflict';
}

/** A resource class with allocations cannot leave the inventory. */
export class InventoryInUse extends RequestRefused {
  override readonly name = 'InventoryInUse';
}

/**
 * A provider with that uuid or name exists. The caller must check which: it may be another
 * service's.
 */
export class ProviderExists extends RequestRefused {
  override readonly name = 'ProviderExists';
}

export interface Placement extends PlacementReads {
  getProvider(uuid: string): Promise<Provider | undefined>;
  findProviderByName(name: string): Promise<Provider | undefined>;
  /** The whole tree of the provider, itself included; empty if the provider does not exist. */
  providersInTree(uuid: string): Promise<Provider[]>;
  /** @throws ProviderExists */
  createProvider(provider: NamedProvider): Promise<Provider>;
  /**
   * Renames the provider, and moves it with what is below it: under the parent, or out of its
   * tree. Too old: a Placement before Victoria moves none.
   */
  moveProvider(provider: NamedProvider): Promise<'moved' | 'absent' | 'too-old'>;
  /** In use: the provider has allocations or child providers. */
  deleteProvider(uuid: string): Promise<'deleted' | 'absent' | 'in-use'>;

  getInventories(
    uuid: string,
  ): Promise<{ generation: number; inventories: HeldInventories } | undefined>;
  /**
   * Replaces all inventories of the provider; returns its new generation.
   *
   * @throws GenerationConflict, InventoryInUse
   */
  putInventories(uuid: string, generation: number, inventories: HeldInventories): Promise<number>;

  getTraits(uuid: string): Promise<{ generation: number; traits: string[] } | undefined>;
  /** Replaces all traits of the provider; returns its generation. @throws GenerationConflict */
  putTraits(uuid: string, generation: number, traits: readonly string[]): Promise<number>;
  /** Creates a custom trait. A standard trait needs no call. */
  ensureTrait(name: string): Promise<void>;
  /** Creates a custom resource class likewise. */
  ensureResourceClass(name: string): Promise<void>;

  /** Allocations of a provider, by consumer. */
  allocationsOf(providerUuid: string): Promise<Record<string, Resources>>;
}

export function createPlacement(options: PlacementOptions): Placement {
  const call = placementCalls(options);
  const callToMove = placementCalls(options, movingMicroversion);

  /** Undefined if the answer is 404. */
  async function get<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
    const { request, answer } = await call('GET', path);
    if (saysAbsent(answer, 'errors')) return undefined;
    if (answer.status !== 200) throw refusal({ request, answer });
    return readBody(schema, request, answer);
  }

  async function put<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T> {
    const { request, answer } = await call('PUT', path, body);
    if (answer.status !== 200) throw refusal({ request, answer });
    return readBody(schema, request, answer);
  }

  async function list(query: string): Promise<Provider[]> {
    return (await get(`/resource_providers?${query}`, providerList)) ?? [];
  }

  async function ensure(collection: 'traits' | 'resource_classes', name: string): Promise<void> {
    if (!name.startsWith('CUSTOM_')) return;
    const { request, answer } = await call('PUT', `/${collection}/${encodeURIComponent(name)}`);
    if (answer.status !== 201 && answer.status !== 204) throw refusal({ request, answer });
  }

  return {
    ...createPlacementReads(options),

    getProvider: (uuid) => get(providerPath(uuid), provider),
    findProviderByName: async (name) => (await list(`name=${encodeURIComponent(name)}`))[0],
    providersInTree: (uuid) => list(`in_tree=${encodeURIComponent(uuid)}`),

    createProvider: async ({ uuid, name, parentUuid }) => {
      const body = { uuid, name, ...(parentUuid && { parent_provider_uuid: parentUuid }) };
      const { request, answer } = await call('POST', '/resource_providers', body);
      if (answer.status !== 200) throw refusal({ request, answer });
      return readBody(provider, request, answer);
    },

    moveProvider: async ({ uuid, name, parentUuid }) => {
      const body = { name, parent_provider_uuid: parentUuid ?? null };
      const { request, answer } = await callToMove('PUT', providerPath(uuid), body);
      if (answer.status === 200) return 'moved';
      if (answer.status === 406) return 'too-old';
      if (saysAbsent(answer, 'errors')) return 'absent';
      throw refusal({ request, answer });
    },

    deleteProvider: async (uuid) => {
      const made = await call('DELETE', providerPath(uuid));
      if (made.answer.status === 204) return 'deleted';
      if (saysAbsent(made.answer, 'errors')) return 'absent';
      const error = refusal(made);
      if (error.status === 409 && inUseCodes.includes(error.code)) return 'in-use';
      throw error;
    },

    getInventories: async (uuid) => {
      const body = await get(`${providerPath(uuid)}/inventories`, inventoriesBody);
      return (
        body && {
          generation: body.resource_provider_generation,
          inventories: body.inventories,
        }
      );
    },
    putInventories: async (uuid, generation, inventories) => {
      const body = { resource_provider_generation: generation, inventories };
      const path = `${providerPath(uuid)}/inventories`;
      return (await put(path, body, generationBody)).resource_provider_generation;
    },

    getTraits: async (uuid) => {
      const body = await get(`${providerPath(uuid)}/traits`, traitsBody);
      return body && { generation: body.resource_provider_generation, traits: body.traits };
    },
    putTraits: async (uuid, generation, traits) => {
      const body = { resource_provider_generation: generation, traits };
      const path = `${providerPath(uuid)}/traits`;
      return (await put(path, body, generationBody)).resource_provider_generation;
    },
    ensureTrait: (name) => ensure('traits', name),
    ensureResourceClass: (name) => ensure('resource_classes', name),

    allocationsOf: async (uuid) =>
      (await get(`${providerPath(uuid)}/allocations`, allocationsBody)) ?? {},
  };
}

function providerPath(uuid: string): string {
  return `/resource_providers/${encodeURIComponent(uuid)}`;
}

const inUseCodes: readonly (string | undefined)[] = [
  'placement.resource_provider.inuse',
  'placement.resource_provider.cannot_delete_parent',
];

function refusal(made: ServiceCall): RequestRefused {
  const { request, answer } = made;
  const error = refusalOf(made);
  switch (error.code) {
    case 'placement.concurrent_update':
      return new GenerationConflict(request, answer);
    case 'placement.inventory.inuse':
      return new InventoryInUse(request, answer);
    case 'placement.duplicate_name':
      return new ProviderExists(request, answer);
    default:
      return error;
  }
}

const provider = z
  .object({
    uuid: z.string(),
    name: z.string(),
    generation: z.number(),
    parent_provider_uuid: z.string().nullable(),
    root_provider_uuid: z.string(),
  })
  .transform(
    (row): Provider => ({
      uuid: row.uuid,
      name: row.name,
      generation: row.generation,
      ...(row.parent_provider_uuid !== null && { parentUuid: row.parent_provider_uuid }),
      rootUuid: row.root_provider_uuid,
    }),
  );

const providerList = z
  .object({ resource_providers: z.array(provider) })
  .transform((body) => body.resource_providers);

const inventoriesBody = z.object({
  resource_provider_generation: z.number(),
  inventories: z.record(
    z.string(),
    z.object({
      total: z.number(),
      reserved: z.number().optional(),
      min_unit: z.number().optional(),
      max_unit: z.number().optional(),
      step_size: z.number().optional(),
      allocation_ratio: z.number().optional(),
    }),
  ),
});

const traitsBody = z.object({
  resource_provider_generation: z.number(),
  traits: z.array(z.string()),
});

const generationBody = z.object({ resource_provider_generation: z.number() });
