import { RequestRefused } from '#core/clients/http.ts';
import {
  GenerationConflict,
  InventoryInUse,
  type Provider,
} from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { leftAtMs } from '#core/domain/placement/left-providers.ts';
import {
  differsFrom,
  type HeldInventories,
  type WantedProvider,
} from '#core/domain/placement/provider-tree.ts';
import { otherStackMark } from '#core/domain/placement/stack-mark.ts';
import { lostForMs } from '#core/domain/placement/tree-looks.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';

/** Nova or an operator keeps writing to the provider. */
const conflictRetrySeconds = 5;

/** nova-compute creates its provider at its first start, which may be after the agent's. */
export class ComputeProviderMissing extends Error {
  override readonly name = 'ComputeProviderMissing';
}

/** The provider is another stack's; nothing of it was changed. */
export class ProviderOfOtherStack extends Error {
  override readonly name = 'ProviderOfOtherStack';
  readonly mark: string;

  constructor(uuid: string, mark: string) {
    super(`Provider ${uuid} belongs to another stack: it has the trait ${mark}.`);
    this.mark = mark;
  }
}

/** The mark of another stack on the provider; undefined where the provider is not there. */
export async function otherStackAt(
  { clients, settings }: ConsumerDeps,
  providerUuid: string,
): Promise<string | undefined> {
  const held = await clients.placement.getTraits(providerUuid);
  return held && otherStackMark(settings.stage, held.traits);
}

/** `in-use`: a class that is no longer wanted still has allocations; it is fully reserved. */
type PutEnd = 'done' | 'in-use';

/**
 * Makes Placement hold one provider as wanted. Traits come before inventory: Placement must not
 * allocate from a provider without its traits.
 *
 * @param mayCreate whether a provider that is not there was never written, or is known to be lost
 * @throws ComputeProviderMissing; ProviderOfOtherStack; RetryLater while others keep writing to
 *   it, and where it is not there and may not be created
 */
export async function putProvider(
  deps: ConsumerDeps,
  hostname: string,
  planned: WantedProvider,
  mayCreate: boolean,
): Promise<PutEnd> {
  const { placement } = deps.clients;
  for (const resourceClass of Object.keys(planned.inventories)) {
    await placement.ensureResourceClass(resourceClass);
  }
  for (const trait of planned.traits) await placement.ensureTrait(trait);
  const provider = await ensureProvider(deps, hostname, planned, mayCreate);
  await untilNoConflict(async () => {
    const current = await placement.getTraits(provider.uuid);
    if (!current) throw justDeleted(provider.uuid);
    const mark = otherStackMark(deps.settings.stage, current.traits);
    if (mark) throw new ProviderOfOtherStack(provider.uuid, mark);
    const isSame =
      current.traits.length === planned.traits.length &&
      planned.traits.every((trait) => current.traits.includes(trait));
    if (!isSame) await placement.putTraits(provider.uuid, current.generation, planned.traits);
  });
  return putInventories(deps, planned);
}

/**
 * The caller knows that the provider is not another stack's.
 *
 * @throws RetryLater where the provider is not there, or others keep writing to it
 */
export async function putInventories(deps: ConsumerDeps, planned: WantedProvider): Promise<PutEnd> {
  const { placement } = deps.clients;
  return untilNoConflict(async () => {
    const current = await placement.getInventories(planned.uuid);
    if (!current) throw justDeleted(planned.uuid);
    const { generation, inventories } = current;
    if (!differsFrom(planned, inventories)) return 'done';
    try {
      await placement.putInventories(planned.uuid, generation, toInventories(planned));
      return 'done';
    } catch (error) {
      if (!(error instanceof InventoryInUse)) throw error;
    }
    // While the old class has allocations, the free amount of the new class is not known.
    const isOffered = Object.values(inventories).some(({ total, reserved }) => reserved !== total);
    if (isOffered) await placement.putInventories(planned.uuid, generation, keptOnly(inventories));
    return 'in-use';
  });
}

function keptOnly(inventories: HeldInventories): HeldInventories {
  const kept = Object.entries(inventories).map(([resourceClass, inventory]) => {
    return [resourceClass, { ...inventory, reserved: inventory.total }];
  });
  return Object.fromEntries(kept);
}

async function ensureProvider(
  deps: ConsumerDeps,
  hostname: string,
  planned: WantedProvider,
  mayCreate: boolean,
): Promise<Provider> {
  const { placement } = deps.clients;
  const existing = await placement.getProvider(planned.uuid);
  if (existing && leftAtMs(existing.name) === undefined) return existing;
  const parent = planned.parentUuid ?? (await placement.findProviderByName(hostname))?.uuid;
  if (!parent) {
    throw new ComputeProviderMissing(
      `Placement has no resource provider named ${hostname}: nova-compute has not started there, or reports another name.`,
    );
  }
  if (existing) {
    // The device is back before the provider was deleted.
    const { uuid, name } = planned;
    const end = await placement.moveProvider({ uuid, name, parentUuid: parent });
    if (end === 'moved') return existing;
    throw justDeleted(uuid);
  }
  // Nova may be deleting the tree, and leaves the compute node where a provider appears below it.
  if (!mayCreate) throw justDeleted(planned.uuid);
  try {
    const { uuid, name } = planned;
    return await placement.createProvider({ uuid, name, parentUuid: parent });
  } catch (error) {
    if (!(error instanceof RequestRefused)) throw error;
    // Another sync of the device may have created it at that moment.
    const created = await placement.getProvider(planned.uuid);
    if (created) return created;
    // Nova deletes the children of a compute node before it.
    if (error.status !== 400 || (await placement.getProvider(parent))) throw error;
    throw justDeleted(parent);
  }
}

function justDeleted(provider: string): RetryLater {
  return new RetryLater(`Provider ${provider} has just been deleted.`, lostForMs / 1000);
}

function toInventories(planned: WantedProvider): HeldInventories {
  const whole = Object.entries(planned.inventories).map(([resourceClass, inventory]) => {
    const { total, reserved, minUnit, stepSize } = inventory;
    const bounds = { min_unit: minUnit, max_unit: total, step_size: stepSize };
    return [resourceClass, { total, reserved, ...bounds, allocation_ratio: 1 }];
  });
  return Object.fromEntries(whole);
}

export async function untilNoConflict<T>(attempt: () => Promise<T>): Promise<T> {
  let conflict = '';
  return untilWritten(
    'devices',
    async () => {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof GenerationConflict)) throw error;
        conflict = error.message;
        return contended;
      }
    },
    () => new RetryLater(conflict, conflictRetrySeconds),
  );
}
