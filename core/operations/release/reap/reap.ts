import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import {
  chooseReleases,
  releasesMax,
  releasesOfMany,
  seemsDeleted,
  unusedForMs,
  type WaitingInstance,
  waitingAfter,
} from '#core/domain/arq/reaper.ts';
import type { Deployable } from '#core/domain/device/device.ts';
import type { InstanceUuid } from '#core/domain/ids.ts';
import { boundArqs } from '#core/operations/host-work/bound-arqs.ts';
import { releaseArqs } from '#core/operations/release/release-arqs.ts';
import { timeNow } from '#core/operations/time-now.ts';
import type { ReaperWaits } from '#core/store/arqs/reaper.ts';
import { reasonToKeep, serverState } from './reason-to-keep.ts';
import { checkVisibility } from './visibility.ts';

/** Deployables checked by one sweep; the next sweep goes on after them. */
const pageSize = 100;
/** Consecutive failures that mean that Nova or Placement is away. */
const failuresMax = 3;

/**
 * Releases bindings of instances that do not use them. Nova only logs a delete of ARQs that fails,
 * and after a failed unshelve it deletes none. The walk follows the claims on attach handles: its
 * length depends on the cloud's hardware, not on the number of ARQs.
 *
 * An instance is unused if Nova has said twice, ten minutes apart, that the server does not exist
 * or is on no host; if Placement has no allocation for it; and if Nova shows servers of other
 * projects at all. Of too many unused instances at once, a sweep releases few, which do not exist
 * at Nova; the others wait for an operator, see reap-waiting.ts.
 */
export async function reap(deps: ConsumerDeps): Promise<void> {
  try {
    await reapPage(deps);
  } catch (error) {
    if (!(error instanceof ServiceUnavailable)) throw error;
    deps.log.warn('Reaper stopped: OpenStack is away', { error: error.message });
  }
}

async function reapPage(deps: ConsumerDeps): Promise<void> {
  const { after, waits } = await deps.store.reaper.state();
  const page = { limit: pageSize, sortKey: 'uuid', sortDir: 'asc' } as const;
  const deployables = await deps.listings.deployablesFrom(page, after);
  try {
    const unused = await findUnused(deps, await findHolders(deps, deployables));
    const released = await release(deps, unused);
    const left = unused.filter((each) => !released.includes(each));
    await keepWaiting(deps, unused.length > releasesMax ? left : [], after ?? '', waits);
  } finally {
    // The next sweep goes on with the next page, even if this page failed in part.
    const isLast = deployables.length < pageSize;
    await deps.store.reaper.putCursor(isLast ? undefined : deployables.at(-1)?.uuid);
  }
}

/** Stores which instances of the page wait for an operator. */
async function keepWaiting(
  deps: ConsumerDeps,
  left: readonly Unused[],
  page: string,
  before: ReaperWaits | undefined,
): Promise<void> {
  const now = deps.clock();
  const waitingHere = left.map(
    ({ binding, since, isAbsent }): WaitingInstance => ({
      instanceUuid: binding.instanceUuid,
      hostname: binding.hostname,
      projectId: binding.projectId,
      since,
      isAbsent,
      page,
      foundAt: new Date(now).toISOString(),
    }),
  );
  const were = before?.instances ?? [];
  const waiting = waitingAfter(were, page, waitingHere, now);
  const isSame = waitingHere.length === 0 && waiting.length === were.length;
  if (!isSame) await deps.store.reaper.putWaiting(waiting, before);
}

interface Unused {
  readonly binding: InstanceBinding;
  readonly since: string;
  /** Nova answers 404 for it. */
  readonly isAbsent: boolean;
}

/** Instance → whether Placement has an allocation for it on a provider whose handle it holds. */
async function findHolders(
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
): Promise<Unused[]> {
  const unused: Unused[] = [];
  let failures = 0;
  for (const [uuid, isAllocated] of holders) {
    const binding = await deps.store.arqs.binding(uuid);
    try {
      const candidate = binding && (await checkUnused(deps, binding, isAllocated));
      if (candidate) unused.push(candidate);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!(error instanceof ServiceUnavailable) || failures === failuresMax) throw error;
      deps.log.warn('Instance not checked by the reaper', {
        instance: uuid,
        error: error.message,
      });
    }
  }
  return unused;
}

/** Returns those that were released. */
async function release(deps: ConsumerDeps, unused: readonly Unused[]): Promise<readonly Unused[]> {
  if (unused.length > releasesMax) {
    deps.metrics.put([{ name: 'ReaperRefused', dimension: 'too-many', value: 1 }]);
    deps.log.error('Too many unused instances: an operator must decide', {
      count: unused.length,
      released_per_sweep: releasesOfMany,
    });
  }
  const chosen = chooseReleases(unused);
  if (chosen.length === 0 || !(await seesServersOfOthers(deps))) return [];
  for (const { binding } of chosen) await releaseUnused(deps, binding);
  return chosen;
}

export async function releaseUnused(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  await releaseArqs(deps, binding.instanceUuid, 'all', 'deleted', binding);
  deps.metrics.put([{ name: 'InstancesReaped', value: 1 }]);
  deps.log.warn('Unused instance released', {
    instance: binding.instanceUuid,
    arqs: binding.arqUuids,
    unused_since: binding.unusedSince,
  });
}

/** Undefined for an instance that is used, or not long enough unused. */
async function checkUnused(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  isAllocated: boolean,
): Promise<Unused | undefined> {
  const now = deps.clock();
  const { unusedSince: since } = binding;
  // Nova is asked only about instances without an allocation.
  const state = isAllocated ? 'on-host' : await serverState(deps, binding.instanceUuid);
  // Units are reserved for servers that do not exist; a server on no host may come to a host.
  const isOther = seemsDeleted(binding) && state !== 'absent';
  if (state === 'on-host' || isOther) {
    if (since) await noteUsed(deps, binding);
    return undefined;
  }
  if (!since) {
    await noteUnused(deps, binding, state === 'absent');
    return undefined;
  }
  if (now - Date.parse(since) < unusedForMs(binding)) return undefined;
  if (await reasonToKeep(deps, binding)) return undefined;
  return { binding, since, isAbsent: state === 'absent' };
}

/**
 * Nova deletes the allocation of a server before our ARQs, or without them: until its handles are
 * free, Placement would offer them to a server that cannot be bound.
 */
async function noteUnused(
  deps: ConsumerDeps,
  binding: InstanceBinding,
  isAbsent: boolean,
): Promise<void> {
  const now = timeNow(deps);
  // Units reserved because of a lost allocation stay reserved until the binding ends.
  const isReserved = binding.reservedProviders !== undefined;
  if (!isAbsent || isReserved || (await reasonToKeep(deps, binding))) {
    await deps.store.reaper.noteUnused(binding, now);
    return;
  }
  const arqs = await boundArqs(deps, binding);
  // A look may have noted it since this walk has read it, and knows that no host has built it.
  const current = await deps.store.arqs.binding(binding.instanceUuid);
  if (current?.unusedSince !== undefined) return;
  await deps.store.reaper.reserve(binding, arqs, now, true);
}

/** Placement no longer reserves the units of the instance, unless it has lost its allocation. */
export async function noteUsed(deps: ConsumerDeps, binding: InstanceBinding): Promise<void> {
  if (!seemsDeleted(binding)) return deps.store.reaper.noteUnused(binding, undefined);
  await deps.store.reaper.unreserve(binding, await boundArqs(deps, binding));
}

export async function seesServersOfOthers(deps: ConsumerDeps): Promise<boolean> {
  const sees = (await checkVisibility(deps.clients)) === 'seen';
  if (!sees) {
    deps.metrics.put([{ name: 'ReaperRefused', dimension: 'blind', value: 1 }]);
    deps.log.error('Nothing reaped: Nova shows no server of another project');
  }
  return sees;
}
