import { ServiceUnavailable } from '../../clients/http.ts';
import type { Nova } from '../../clients/nova.ts';
import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { InstanceBinding } from '../../domain/arq.ts';
import type { Deployable } from '../../domain/device.ts';
import type { InstanceUuid } from '../../domain/ids.ts';
import { releaseArqs } from './release-arqs.ts';
import { checkVisibility } from './visibility.ts';

/** Deployables looked at in one sweep; the next goes on where this one ended. */
const pageSize = 100;
/** An instance must have been unused for so long: replicas and cells of Nova may lag. */
const unusedMs = 10 * 60_000;
/** More than this at once is no forgotten delete, but Nova or our credentials gone wrong. */
const releasesMax = 10;
/** One after another: then Nova or Placement is away, and no single server is at fault. */
const failuresMax = 3;

/**
 * Releases what is held for instances that use nothing of it. Nova only logs it when its delete of
 * ARQs does not reach us, and after a failed unshelve it deletes none. The walk goes by the claims
 * on attach handles: however many ARQs a tenant creates, it is no longer than the cloud's
 * hardware.
 *
 * An instance uses nothing if Nova has said twice, ten minutes apart, that there is no such server
 * or that no host has it; if Placement has nothing allocated for it; and if we can see servers of
 * other projects at all. A sweep that finds too many of them releases none.
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
    // The next page is looked at although this one failed in part.
    const isLast = deployables.length < pageSize;
    await deps.store.reaper.putCursor(isLast ? undefined : deployables.at(-1)?.uuid);
  }
}

/** Instance → whether Placement has something allocated for it from a provider that it holds. */
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

/** Nova answers 500 for a server of which it has only a part: that one counts as used. */
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
      deps.log.warn('Released what was held for an unused instance.', {
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
  // Nova is asked about those only that Placement does not vouch for.
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
  // It may have moved to devices that are not ours, and still be on its way.
  const allocations = await placement.getAllocations(binding.instanceUuid);
  return Object.keys(allocations).length === 0 && !(await hasRestored(deps, binding));
}

async function isOnHost(nova: Nova, instanceUuid: InstanceUuid): Promise<boolean> {
  const server = await nova.server(instanceUuid);
  return server !== 'not-found' && server.host !== null;
}

/**
 * What it had when the backup was made may have another holder by now: its host must not clean it.
 */
async function hasRestored(deps: ConsumerDeps, binding: InstanceBinding): Promise<boolean> {
  const arqs = await deps.store.arqs.byUuids(binding.arqUuids);
  for (const { binding: bound } of arqs.values()) {
    const provider = bound && (await deps.store.inventory.provider(bound.providerUuid));
    const handle = provider?.handles.find(({ uuid }) => uuid === bound?.attachment?.handleUuid);
    if (handle?.restoredAt !== undefined) return true;
  }
  return false;
}

async function seesServersOfOthers(deps: ConsumerDeps): Promise<boolean> {
  const sees = (await checkVisibility(deps.clients)) === 'seen';
  if (!sees) {
    deps.metrics.put([{ name: 'ReaperRefused', of: 'blind', value: 1 }]);
    deps.log.error('Nova shows no server of another project; nothing is released.');
  }
  return sees;
}
