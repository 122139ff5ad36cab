import { ServiceUnavailable } from '../../clients/http.ts';
import type { Nova } from '../../clients/nova.ts';
import type { ConsumerDeps } from '../../consumer-deps.ts';
import { heldHandles, type InstanceBinding } from '../../domain/arq.ts';
import type { Deployable } from '../../domain/device.ts';
import type { InstanceUuid } from '../../domain/ids.ts';
import { releaseArqs } from './release-arqs.ts';
import { checkVisibility } from './visibility.ts';

/** Deployables checked by one sweep; the next sweep goes on after them. */
const pageSize = 100;
/** How long an instance must be unused: replicas and cells of Nova may lag. */
const unusedMs = 10 * 60_000;
/** More unused instances at once mean a fault of Nova or of the credentials, not lost deletes. */
const releasesMax = 10;
/** Consecutive failures that mean that Nova or Placement is away. */
const failuresMax = 3;

/**
 * Releases bindings of instances that do not use them. Nova only logs a delete of ARQs that fails,
 * and after a failed unshelve it deletes none. The walk follows the claims on attach handles: its
 * length depends on the cloud's hardware, not on the number of ARQs.
 *
 * An instance is unused if Nova has said twice, ten minutes apart, that the server does not exist
 * or is on no host; if Placement has no allocation for it; and if Nova shows servers of other
 * projects at all. A sweep that finds too many unused instances releases none.
 */
export async function reap(deps: ConsumerDeps): Promise<void> {
  try {
    await reapPage(deps);
  } catch (error) {
    if (!(error instanceof ServiceUnavailable)) throw error;
    deps.log.warn('Reaper cannot ask OpenStack.', { error: error.message });
  }
}

async function reapPage(deps: ConsumerDeps): Promise<void> {
  const after = await deps.store.reaper.cursor();
  const page = { limit: pageSize, sortKey: 'uuid', sortDir: 'asc' } as const;
  const deployables = await deps.listings.deployablesFrom(page, after);
  try {
    await release(deps, await findUnused(deps, await holdersOf(deps, deployables)));
  } finally {
    // The next sweep goes on with the next page, even if this page failed in part.
    const isLast = deployables.length < pageSize;
    await deps.store.reaper.putCursor(isLast ? undefined : deployables.at(-1)?.uuid);
  }
}

/** Instance → whether Placement has an allocation for it on a provider whose handle it holds. */
async function holdersOf(
  deps: ConsumerDeps,
  deployables: readonly Deployable[],
): Promise<Map<InstanceUuid, boolean>> {
  const holders = new Map<InstanceUuid, boolean>();
  for (const { providerUuid } of deployables) {
    const { handles = [] } = (await deps.store.inventory.provider(providerUuid)) ?? {};
    const instances = handles.flatMap(({ claim }) => claim?.instanceUuid ?? []);
    if (instances.length === 0) continue;
    const allocated = await deps.clients.placement.allocationsOf(providerUuid);
    for (const instance of instances) {
      holders.set(instance, holders.get(instance) || allocated[instance] !== undefined);
    }
  }
  return holders;
}

/** Nova answers 500 for a server with incomplete rows: such a server counts as used. */
async function findUnused(
  deps: ConsumerDeps,
  holders: ReadonlyMap<InstanceUuid, boolean>,
): Promise<InstanceBinding[]> {
  const unused: InstanceBinding[] = [];
  let failures = 0;
  for (const [uuid, isAllocated] of holders) {
    const binding = await deps.store.arqs.binding(uuid);
    try {
      if (binding && (await isUnused(deps, binding, isAllocated))) unused.push(binding);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!(error instanceof ServiceUnavailable) || failures === failuresMax) throw error;
      deps.log.warn('Reaper cannot tell whether an instance is in use.', {
        instance: uuid,
        error: error.message,
      });
    }
  }
  return unused;
}

async function release(deps: ConsumerDeps, unused: readonly InstanceBinding[]): Promise<void> {
  if (unused.length > releasesMax) {
    deps.metrics.put([{ name: 'ReaperRefused', of: 'too-many', value: 1 }]);
    deps.log.error('Too many instances are unused; none is released.', { count: unused.length });
  } else if (unused.length > 0 && (await seesServersOfOthers(deps))) {
    for (const binding of unused) {
      await releaseArqs(deps, binding.instanceUuid, 'all', 'deleted', binding);
      deps.metrics.put([{ name: 'InstancesReaped', value: 1 }]);
      deps.log.warn('Released the binding of an unused instance.', {
        instance: binding.instanceUuid,
        unused_since: binding.unusedSince,
      });
    }
  }
}

async function isUnused(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  isAllocated: boolean,
): Promise<boolean> {
  const now = deps.clock();
  const { nova, placement } = deps.clients;
  const { unusedSince } = binding;
  // Nova is asked only about instances without an allocation.
  const isUsed = isAllocated || (await isOnHost(nova, binding.instanceUuid));
  if (isUsed) {
    if (unusedSince) await deps.store.reaper.noteUnused(binding, undefined);
    return false;
  }
  if (!unusedSince) {
    await deps.store.reaper.noteUnused(binding, new Date(now).toISOString());
    return false;
  }
  if (now - Date.parse(unusedSince) < unusedMs) return false;
  // The instance may be moving to devices of another service.
  const allocations = await placement.getAllocations(binding.instanceUuid);
  return Object.keys(allocations).length === 0 && !(await hasRestored(deps, binding));
}

async function isOnHost(nova: Nova, instanceUuid: InstanceUuid): Promise<boolean> {
  const server = await nova.server(instanceUuid);
  return server !== 'not-found' && server.host !== null;
}

/**
 * Whether the binding has a restored handle, which may have another holder since the backup: the
 * host must not clean it.
 */
async function hasRestored(deps: ConsumerDeps, binding: InstanceBinding): Promise<boolean> {
  const arqs = await deps.store.arqs.byUuids(binding.arqUuids);
  const providers = await deps.store.inventory.providersOf(heldHandles(arqs.values()));
  return providers.some(({ handles }) => handles.some(({ restoredAt }) => restoredAt));
}

async function seesServersOfOthers(deps: ConsumerDeps): Promise<boolean> {
  const sees = (await checkVisibility(deps.clients)) === 'seen';
  if (!sees) {
    deps.metrics.put([{ name: 'ReaperRefused', of: 'blind', value: 1 }]);
    deps.log.error('Nova shows no server of another project; nothing is released.');
  }
  return sees;
}
