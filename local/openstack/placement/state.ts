// The state of the fake Placement, and the rules by which it changes. Each refusal has Placement's
// own text and code.

import * as z from 'zod';
import { Refusal } from '#local/openstack/http-service.ts';
import { isCustomName, standardClasses, standardTraits } from './names.ts';

const inventory = z.object({
  total: z.number(),
  reserved: z.number(),
  min_unit: z.number(),
  max_unit: z.number(),
  step_size: z.number(),
  allocation_ratio: z.number(),
});
type FullInventory = z.infer<typeof inventory>;

const provider = z.object({
  uuid: z.string(),
  name: z.string(),
  generation: z.number(),
  parent: z.string().nullable(),
  inventories: z.record(z.string(), inventory),
  traits: z.array(z.string()),
});
export type StoredProvider = z.infer<typeof provider>;

const consumer = z.object({
  project_id: z.string(),
  user_id: z.string(),
  generation: z.number(),
  /** Amount by resource class, by provider. */
  allocations: z.record(z.string(), z.record(z.string(), z.number())),
});
export type Consumer = z.infer<typeof consumer>;

export const placementState = z.object({
  providers: z.record(z.string(), provider).default({}),
  consumers: z.record(z.string(), consumer).default({}),
  /** Custom traits; the standard ones always exist. */
  traits: z.array(z.string()).default([]),
  classes: z.array(z.string()).default([]),
});
export type PlacementState = z.infer<typeof placementState>;

const concurrentUpdate = 'placement.concurrent_update';

export function knowsClass(state: PlacementState, name: string): boolean {
  return standardClasses.has(name) || state.classes.includes(name);
}

export function knowsTrait(state: PlacementState, name: string): boolean {
  return standardTraits.has(name) || state.traits.includes(name);
}

/** @throws Refusal 404 */
export function providerOf(state: PlacementState, uuid: string): StoredProvider {
  const provider = state.providers[uuid];
  if (!provider) throw new Refusal(404, `No resource provider with uuid ${uuid} found`);
  return provider;
}

export function rootOf(state: PlacementState, uuid: string): StoredProvider {
  const provider = providerOf(state, uuid);
  return provider.parent === null ? provider : rootOf(state, provider.parent);
}

export function treeOf(state: PlacementState, uuid: string): StoredProvider[] {
  if (!state.providers[uuid]) return [];
  const root = rootOf(state, uuid).uuid;
  return Object.values(state.providers).filter((each) => rootOf(state, each.uuid).uuid === root);
}

export function usedOf(state: PlacementState, uuid: string, resourceClass: string): number {
  return Object.values(state.consumers)
    .map(({ allocations }) => allocations[uuid]?.[resourceClass] ?? 0)
    .reduce((sum, amount) => sum + amount, 0);
}

export function capacityOf({ total, reserved, allocation_ratio }: FullInventory): number {
  return Math.floor((total - reserved) * allocation_ratio);
}

export function addProvider(
  state: PlacementState,
  wanted: { readonly uuid: string; readonly name: string; readonly parent: string | null },
): StoredProvider {
  const { uuid, name, parent } = wanted;
  if (state.providers[uuid]) throw taken(`uuid: ${uuid}`);
  if (isNameTaken(state, wanted)) throw taken(`name: ${name}`);
  if (parent !== null && !state.providers[parent]) {
    const reason = 'Object action create failed because: parent provider UUID does not exist.';
    throw new Refusal(400, `Unable to create resource provider "${name}", ${uuid}: ${reason}`);
  }
  const added = { uuid, name, parent, generation: 0, inventories: {}, traits: [] };
  state.providers[uuid] = added;
  return added;
}

/**
 * Renames the provider, and moves it with what is below it.
 *
 * @param mayMove whether the request's microversion, 1.37 or later, lets it change its parent
 */
export function changeProvider(
  state: PlacementState,
  provider: StoredProvider,
  wanted: { readonly name: string; readonly parent: string | null },
  mayMove: boolean,
): void {
  const { uuid } = provider;
  const { name, parent } = wanted;
  if (isNameTaken(state, { uuid, name })) throw taken(`name: ${name}`);
  const refuse = (reason: string) => {
    const cause = `Object action update failed because: ${reason}`;
    return new Refusal(400, `Unable to save resource provider ${uuid}: ${cause}`);
  };
  if (parent !== null && !state.providers[parent]) {
    throw refuse('parent provider UUID does not exist.');
  }
  if (parent !== provider.parent && provider.parent !== null && !mayMove) {
    const change = parent === null ? 'un-parenting' : 're-parenting';
    throw refuse(`${change} a provider is not currently allowed.`);
  }
  if (parent !== null && isBelow(state, parent, uuid)) {
    throw refuse('creating loop in the provider tree is not allowed.');
  }
  provider.name = name;
  provider.parent = parent;
}

function isBelow(state: PlacementState, uuid: string, above: string): boolean {
  if (uuid === above) return true;
  const { parent } = providerOf(state, uuid);
  return parent !== null && isBelow(state, parent, above);
}

function isNameTaken(
  state: PlacementState,
  { uuid, name }: { readonly uuid: string; readonly name: string },
): boolean {
  return Object.values(state.providers).some((each) => each.name === name && each.uuid !== uuid);
}

function taken(field: string): Refusal {
  const reason = `Conflicting resource provider ${field} already exists.`;
  return new Refusal(409, reason, 'placement.duplicate_name');
}

export function removeProvider(state: PlacementState, uuid: string): void {
  if (!state.providers[uuid]) {
    throw new Refusal(404, `No resource provider with uuid ${uuid} found for delete`);
  }
  const codes = 'placement.resource_provider';
  if (Object.values(state.providers).some(({ parent }) => parent === uuid)) {
    const reason = `Unable to delete parent resource provider ${uuid}: It has child resource providers.`;
    throw new Refusal(409, reason, `${codes}.cannot_delete_parent`);
  }
  if (Object.values(state.consumers).some(({ allocations }) => allocations[uuid])) {
    const reason = `Unable to delete resource provider ${uuid}: Resource provider has allocations.`;
    throw new Refusal(409, reason, `${codes}.inuse`);
  }
  delete state.providers[uuid];
}

export function setInventories(
  state: PlacementState,
  provider: StoredProvider,
  generation: number,
  inventories: Record<string, FullInventory>,
): void {
  const { uuid } = provider;
  if (generation !== provider.generation) {
    throw new Refusal(409, 'resource provider generation conflict', concurrentUpdate);
  }
  for (const [name, wanted] of Object.entries(inventories)) {
    if (capacityOf(wanted) < 0) {
      const where = `'${name}' on resource provider '${uuid}'`;
      const reason = `Invalid inventory for ${where}. The reserved value is greater than total.`;
      throw new Refusal(400, `Unable to update inventory for resource provider ${uuid}: ${reason}`);
    }
    if (!knowsClass(state, name)) {
      const reason = `No such resource class ${name}.`;
      throw new Refusal(
        400,
        `Unknown resource class in inventory for resource provider ${uuid}: ${reason}`,
      );
    }
  }
  for (const name of Object.keys(provider.inventories)) {
    if (!inventories[name] && usedOf(state, uuid, name) > 0) {
      const reason = `update conflict: Inventory for '${name}' on resource provider '${uuid}' in use.`;
      throw new Refusal(409, reason, 'placement.inventory.inuse');
    }
  }
  provider.inventories = inventories;
  // Also if the inventory is unchanged.
  provider.generation += 1;
}

export function setTraits(
  state: PlacementState,
  provider: StoredProvider,
  generation: number,
  traits: readonly string[],
): void {
  if (generation !== provider.generation) {
    const reason = "Resource provider's generation already changed.";
    const advice = 'Please update the generation and try again.';
    throw new Refusal(409, `${reason} ${advice}`, concurrentUpdate);
  }
  const unknown = traits.filter((name) => !knowsTrait(state, name));
  if (unknown.length > 0) throw new Refusal(400, `No such trait ${unknown.join(', ')}`);
  const sorted = [...new Set(traits)].sort();
  // Unlike an inventory, an unchanged set of traits keeps the generation.
  if (sorted.join() !== provider.traits.join()) provider.generation += 1;
  provider.traits = sorted;
}

/** Returns whether the name is new. */
export function ensureName(names: string[], name: string): boolean {
  if (names.includes(name)) return false;
  names.push(name);
  return true;
}

export function refuseOddTrait(name: string): void {
  if (isCustomName(name)) return;
  const rule =
    'A valid trait must be no longer than 255 characters, start with the prefix "CUSTOM_"';
  const letters = 'and use following characters: "A"-"Z", "0"-"9" and "_"';
  throw new Refusal(400, `The trait is invalid. ${rule} ${letters}`);
}
