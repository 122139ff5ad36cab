import { ServiceUnavailable } from '../clients/http.ts';
import type { ConsumerDeps } from '../consumer-deps.ts';
import type { InstanceBinding } from '../domain/arq.ts';
import type { InstanceUuid } from '../domain/ids.ts';
import { lookAtOthers } from './look-at-others.ts';
import { releaseArqs } from './release-arqs.ts';

/** ARQs looked at in one sweep; the next goes on where this one ended. */
const pageSize = 100;
/** An instance must have been absent for so long: replicas and cells of Nova may lag. */
const absentMs = 10 * 60_000;
/** More than this at once is no forgotten delete, but Nova or our credentials gone wrong. */
const releasesMax = 10;
/** One after another: then Nova or Placement is away, and no single server is at fault. */
const failuresMax = 3;

/**
 * Releases what is held for instances that are gone: Nova only logs it when its delete does not reach us.
 * An instance is gone if Nova has said so twice, ten minutes apart, Placement has nothing allocated for
 * it, and we can see servers of others at all; a sweep that finds too many gone releases none.
 */
export async function reap(deps: ConsumerDeps): Promise<void> {
  try {
    await reapPage(deps);
  } catch (error) {
    if (!(error instanceof ServiceUnavailable)) throw error;
    deps.log.warn('What is gone cannot be looked for.', { error: error.message });
  }
}

async function reapPage(deps: ConsumerDeps): Promise<void> {
  const marker = await deps.store.reaper.cursor();
  const page = { limit: pageSize, sortKey: 'uuid', sortDir: 'asc' } as const;
  const arqs = await deps.listings.arqs({ ...page, ...(marker && { marker }) }, {});
  const instances = new Set(arqs.flatMap(({ binding }) => binding?.instanceUuid ?? []));
  try {
    await release(deps, await whichAreGone(deps, instances));
  } finally {
    // Whatever a page has failed of, the next one is looked at.
    await deps.store.reaper.putCursor(arqs.length < pageSize ? undefined : arqs.at(-1)?.uuid);
  }
}

/** Nova answers 500 for a server of which it has but a part: that one is not known to be gone. */
async function whichAreGone(
  deps: ConsumerDeps,
  instances: ReadonlySet<InstanceUuid>,
): Promise<InstanceBinding[]> {
  const gone: InstanceBinding[] = [];
  let failures = 0;
  for (const uuid of instances) {
    const binding = await deps.store.arqs.binding(uuid);
    try {
      if (binding && (await isGone(deps, binding))) gone.push(binding);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!(error instanceof ServiceUnavailable) || failures === failuresMax) throw error;
      deps.log.warn('Whether an instance is gone cannot be told.', {
        instance: uuid,
        error: error.message,
      });
    }
  }
  return gone;
}

async function release(deps: ConsumerDeps, gone: readonly InstanceBinding[]): Promise<void> {
  if (gone.length > releasesMax) {
    deps.metrics.put([{ name: 'ReaperRefused', of: 'too-many', value: 1 }]);
    deps.log.error('Too many instances are gone; none is released.', { count: gone.length });
  } else if (gone.length > 0 && (await seesServersOfOthers(deps))) {
    for (const binding of gone) {
      await releaseArqs(deps, binding.instanceUuid, 'all', 'deleted', binding);
      deps.metrics.put([{ name: 'InstancesReaped', value: 1 }]);
      deps.log.warn('Released what was held for an instance that is gone.', {
        instance: binding.instanceUuid,
        absent_since: binding.absentSince,
      });
    }
  }
}

async function isGone(deps: ConsumerDeps, binding: InstanceBinding): Promise<boolean> {
  const now = deps.clock();
  const { nova, placement } = deps.clients;
  const { absentSince } = binding;
  if ((await nova.serverProject(binding.instanceUuid)) !== 'not-found') {
    if (absentSince) await deps.store.reaper.noteAbsent(binding, undefined);
    return false;
  }
  if (!absentSince) {
    await deps.store.reaper.noteAbsent(binding, new Date(now).toISOString());
    return false;
  }
  if (now - Date.parse(absentSince) < absentMs) return false;
  const allocations = await placement.getAllocations(binding.instanceUuid);
  return Object.keys(allocations).length === 0 && !(await hasRestored(deps, binding));
}

/** What it had when the backup was made may be somebody else's by now: its host must not clean it up. */
async function hasRestored(deps: ConsumerDeps, binding: InstanceBinding): Promise<boolean> {
  const arqs = await deps.store.arqs.byUuids(binding.arqUuids);
  for (const { binding: bound } of arqs.values()) {
    const provider = bound && (await deps.store.inventory.provider(bound.providerUuid));
    const handle = provider?.handles.find(({ uuid }) => uuid === bound?.attachment?.handleUuid);
    if (handle?.unknownSince !== undefined) return true;
  }
  return false;
}

async function seesServersOfOthers(deps: ConsumerDeps): Promise<boolean> {
  const sees = (await lookAtOthers(deps.clients)) === 'seen';
  if (!sees) {
    deps.metrics.put([{ name: 'ReaperRefused', of: 'blind', value: 1 }]);
    deps.log.error('Nova shows us no server of another project; nothing is released.');
  }
  return sees;
}
