// Providers of what is gone. nova-compute reads the allocations of each provider in its own copy
// of the host's tree, which it renews every five minutes, and builds nothing on the host while one
// of them is not there. So a provider leaves the tree first, and is deleted when no copy has it.

import { InventoryInUse } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Device } from '#core/domain/device/device.ts';
import { mustStay } from '#core/domain/device/handle-state.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { leftAtMs, leftForMs, nameAfterLeaving } from '#core/domain/placement/left-providers.ts';
import type { WantedProvider } from '#core/domain/placement/provider-tree.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { otherStackAt, putInventories, untilNoConflict } from './put-provider.ts';

const allocatedSeconds = 60;

export function isNeeded(stored: StoredProvider | undefined): boolean {
  return stored?.handles.some(mustStay) ?? false;
}

export function stillAllocated({ hostname }: Device): RetryLater {
  return new RetryLater(`Something is still allocated on ${hostname}.`, allocatedSeconds);
}

/**
 * Deletes providers of a device whose rows were deleted while a sync wrote it to Placement. No
 * later sync would find them.
 */
export async function removeUnstored(
  deps: ConsumerDeps,
  named: ProviderUuid,
  written: ReadonlySet<ProviderUuid>,
): Promise<void> {
  const { placement } = deps.clients;
  const tree = await placement.providersInTree(named);
  const below = tree.flatMap(({ uuid, parentUuid }) => (parentUuid === named ? [uuid] : []));
  // Regions come before their devices: children are deleted first.
  for (const uuid of new Set([...below, ...[...written].toReversed(), named])) {
    if (await deps.store.inventory.provider(uuid as ProviderUuid)) continue;
    if (await otherStackAt(deps, uuid)) continue;
    if ((await takeOut(deps, uuid)) === 'in-use') {
      throw new RetryLater(`Something is still allocated from ${uuid}, which is gone.`, 10);
    }
  }
}

/**
 * Takes a provider out of its tree and has it deleted later, or deletes one that left it long
 * enough ago. A Placement before Victoria moves no provider, so it is deleted at once.
 */
async function takeOut(deps: ConsumerDeps, uuid: string): Promise<'out' | 'in-use'> {
  const { placement } = deps.clients;
  const provider = await placement.getProvider(uuid);
  if (!provider) return 'out';
  // Also of one that has left: a sync that was overtaken may have offered it again.
  if ((await emptyInventory(deps, uuid)) === 'in-use') return 'in-use';
  const nowMs = deps.clock();
  const leftAt = provider.parentUuid === undefined ? leftAtMs(provider.name) : undefined;
  if (leftAt === undefined) {
    const end = await placement.moveProvider({
      uuid,
      name: nameAfterLeaving(provider.name, nowMs),
    });
    if (end === 'moved') return deleteLater(deps, uuid, leftForMs);
  } else if (leftAt + leftForMs > nowMs) return deleteLater(deps, uuid, leftAt + leftForMs - nowMs);
  return (await placement.deleteProvider(uuid)) === 'in-use' ? 'in-use' : 'out';
}

/** Before its rows go: afterwards no change of a row sends a message about it. */
async function deleteLater(deps: ConsumerDeps, uuid: string, inMs: number): Promise<'out'> {
  const seconds = Math.ceil(Math.min(inMs, leftForMs) / 1000);
  await deps.queues.send('provider-syncs', [{ provider_uuid: uuid }], seconds);
  return 'out';
}

async function emptyInventory(
  { clients }: ConsumerDeps,
  uuid: string,
): Promise<'in-use' | 'empty'> {
  const { placement } = clients;
  return untilNoConflict(async () => {
    const held = await placement.getInventories(uuid);
    if (!held || Object.keys(held.inventories).length === 0) return 'empty';
    try {
      await placement.putInventories(uuid, held.generation, {});
      return 'empty';
    } catch (error) {
      if (error instanceof InventoryInUse) return 'in-use';
      throw error;
    }
  });
}

export async function removeProviders(
  deps: ConsumerDeps,
  gone: readonly WantedProvider[],
  providers: readonly StoredProvider[],
  { device, named }: { device: Device; named: StoredProvider },
): Promise<void> {
  const ends: RemovalEnd[] = [];
  const removed: StoredProvider[] = [];
  // Children before their parents.
  for (const provider of gone.toReversed()) {
    const stored = providers.find((each) => each.deployable.providerUuid === provider.uuid);
    if (!stored) continue;
    const end = await removeProvider(deps, provider, stored);
    ends.push(end);
    // The first provider goes with its device. A report under way marks the device's row last, and
    // without the first provider no sync would delete that row.
    const isKept = !device.isGone && provider.uuid === device.providers[0];
    if (end === 'removed' && !isKept) removed.push(stored);
  }
  const isNamed = (each: StoredProvider) =>
    each.deployable.providerUuid === named.deployable.providerUuid;
  // Maintenance outlasts an absence of the device, which may only have lost its link.
  if (!(device.isGone && device.status === 'maintaining')) {
    for (const stored of removed.filter((each) => !isNamed(each)))
      await deleteGoneRows(deps, stored);
    const mayGo = device.isGone && ends.every((end) => end === 'removed');
    // Maintenance may have just begun. The last row lets the end of the maintenance find the
    // device.
    const isLeft = mayGo && !(await deps.store.inventory.deleteGoneDevice(device));
    const last = isLeft ? [] : removed.filter(isNamed);
    for (const stored of last) await deleteGoneRows(deps, stored);
  }
  if (ends.includes('allocated')) throw stillAllocated(device);
}

/** `claimed`: the end of the last claim starts another sync of the device. */
type RemovalEnd = 'removed' | 'claimed' | 'allocated';

/**
 * Takes the provider out of its tree, and has it deleted later; while a claim or allocation
 * remains, reserves it instead.
 */
async function removeProvider(
  deps: ConsumerDeps,
  planned: WantedProvider,
  stored: StoredProvider,
): Promise<RemovalEnd> {
  const { placement } = deps.clients;
  const isInUse = isNeeded(stored);
  // Another stack's provider stays as it is; only the rows end.
  if (await otherStackAt(deps, planned.uuid)) return isInUse ? 'claimed' : 'removed';
  if (!isInUse && (await takeOut(deps, planned.uuid)) === 'out') return 'removed';
  if (await placement.getProvider(planned.uuid)) await putInventories(deps, planned);
  return isInUse ? 'claimed' : 'allocated';
}

export async function deleteGoneRows(deps: ConsumerDeps, stored: StoredProvider): Promise<void> {
  if (!stored.deployable.isGone) return;
  await deps.store.inventory.deleteGoneHandles(stored.handles);
  await deps.store.inventory.deleteGoneDeployable(stored.deployable);
}
