// Allocations of the fake Placement.

import { Refusal } from '#local/openstack/http-service.ts';
import {
  type Consumer,
  capacityOf,
  knowsClass,
  type PlacementState,
  type StoredProvider,
  usedOf,
} from './state.ts';

interface NewAllocations extends Omit<Consumer, 'generation'> {
  readonly uuid: string;
  /** The generation that the writer knows; null for a new consumer. */
  readonly generation: number | null;
}

/** Replaces the allocations of the consumer; an empty set deletes the consumer. */
export function setAllocations(state: PlacementState, request: NewAllocations): void {
  const { uuid, generation, allocations, project_id, user_id } = request;
  const stored = state.consumers[uuid];
  if ((stored?.generation ?? null) !== generation) {
    const expected = stored?.generation ?? 'null';
    const got = generation ?? 'None';
    throw new Refusal(
      409,
      `consumer generation conflict - expected ${expected} but got ${got}`,
      'placement.concurrent_update',
    );
  }
  for (const [providerUuid, resources] of Object.entries(allocations)) {
    const provider = state.providers[providerUuid];
    if (!provider) {
      const which = `Allocation for resource provider '${providerUuid}'`;
      throw new Refusal(400, `${which} that does not exist.`);
    }
    for (const [name, amount] of Object.entries(resources)) {
      if (!knowsClass(state, name)) {
        const reason = `No such resource class ${name}.`;
        throw new Refusal(400, `Unable to allocate inventory for consumer ${uuid}: ${reason}`);
      }
      const held = stored?.allocations[providerUuid]?.[name] ?? 0;
      const fault = faultOf(state, provider, name, amount, held);
      if (fault) throw new Refusal(409, `Unable to allocate inventory: ${fault}`);
    }
  }
  touch(state, [...Object.keys(stored?.allocations ?? {}), ...Object.keys(allocations)]);
  if (Object.keys(allocations).length === 0) delete state.consumers[uuid];
  else {
    const next = (stored?.generation ?? 0) + 1;
    state.consumers[uuid] = { project_id, user_id, generation: next, allocations };
  }
}

/**
 * Unlike {@link setAllocations} with an empty set, this leaves the providers' generations
 * unchanged.
 */
export function removeAllocations(state: PlacementState, consumerUuid: string): void {
  if (!state.consumers[consumerUuid]) {
    throw new Refusal(404, `No allocations for consumer '${consumerUuid}'`);
  }
  delete state.consumers[consumerUuid];
}

/** Placement's error if the amount is not available; `held` is the consumer's present amount. */
export function faultOf(
  state: PlacementState,
  provider: StoredProvider,
  resourceClass: string,
  amount: number,
  held = 0,
): string | undefined {
  const where = `'${resourceClass}' on resource provider '${provider.uuid}'`;
  const inventory = provider.inventories[resourceClass];
  if (!inventory) return `Inventory for ${where} invalid.`;
  const { min_unit, max_unit, step_size } = inventory;
  if (amount < min_unit || amount > max_unit || amount % step_size !== 0) {
    return `Unable to create allocation for ${where}. The requested amount would violate inventory constraints.`;
  }
  const free = capacityOf(inventory) - usedOf(state, provider.uuid, resourceClass) + held;
  if (amount <= free) return undefined;
  return `Unable to create allocation for ${where}. The requested amount would exceed the capacity.`;
}

function touch(state: PlacementState, providerUuids: readonly string[]): void {
  for (const uuid of new Set(providerUuids)) {
    const provider = state.providers[uuid];
    if (provider) provider.generation += 1;
  }
}
