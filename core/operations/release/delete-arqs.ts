import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import { type Caller, mayActOnInstance, maySee } from '#core/domain/caller.ts';
import { ArqNotFound } from '#core/domain/errors.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { leavePlace } from '#core/operations/quotas/take-places.ts';
import {
  refuseDeleteForOtherProject,
  refuseDeleteWithoutServiceToken,
} from '#core/operations/service-token.ts';
import { releaseArqs } from './release-arqs.ts';

/** Deletes that run at once in one call; each is one or a few requests to DynamoDB. */
const atOnceMax = 8;

/**
 * Deletes all ARQs of an instance, and frees their handles. An instance may have none.
 *
 * @returns the deleted ARQs, for the line of the request
 */
export async function deleteArqsOfInstance(
  deps: NovaDeps,
  caller: Caller,
  instanceUuid: string,
): Promise<readonly ArqUuid[]> {
  await refuseDeleteWithoutServiceToken(deps, caller, instanceUuid, 'deleting by instance');
  const binding = await deps.store.arqs.binding(instanceUuid);
  if (!binding || !mayActOnInstance(caller, binding.projectId)) return [];
  if (!maySee(caller, binding.projectId))
    await refuseDeleteForOtherProject(deps, caller, instanceUuid);
  await releaseArqs(deps, instanceUuid, 'all', 'deleted', binding);
  return binding.arqUuids;
}

/**
 * Deletes the ARQs that exist, then names those that do not exist: Nova relies on the deletes and
 * ignores the answer.
 *
 * @throws ArqNotFound after everything else was deleted.
 */
export async function deleteArqs(
  deps: NovaDeps,
  caller: Caller,
  uuids: readonly ArqUuid[],
): Promise<void> {
  const stored = await deps.store.arqs.byUuids(uuids);
  const visible = uuids
    .flatMap((uuid) => stored.get(uuid) ?? [])
    .filter((arq) => maySee(caller, arq.projectId));
  for (const instance of new Set(visible.flatMap((arq) => arq.binding?.instanceUuid ?? []))) {
    await refuseDeleteOfBound(deps, caller, instance);
  }
  await forEachAtOnce(groupByInstance(visible), atOnceMax, (group) =>
    deleteGroup(deps, caller, group),
  );
  const missing = uuids.filter((uuid) => !visible.some((arq) => arq.uuid === uuid));
  if (missing.length > 0) throw new ArqNotFound(missing);
}

/** One transaction deletes the ARQs of one instance: several at once would conflict. */
function groupByInstance(arqs: readonly Arq[]): Arq[][] {
  return [...Map.groupBy(arqs, ({ uuid, binding }) => binding?.instanceUuid ?? uuid).values()];
}

async function deleteGroup(deps: NovaDeps, caller: Caller, group: readonly Arq[]): Promise<void> {
  const instance = group[0]?.binding?.instanceUuid;
  let left: Iterable<Arq> = group;
  if (instance !== undefined && group.length > 1) {
    const uuids = group.map(({ uuid }) => uuid);
    await releaseArqs(deps, instance, new Set(uuids), 'deleted');
    // ARQs that were unbound or bound again after they were read.
    left = (await deps.store.arqs.byUuids(uuids)).values();
  }
  for (const arq of left) await deleteArq(deps, caller, arq);
}

async function deleteArq(deps: NovaDeps, caller: Caller, read: Arq): Promise<void> {
  let arq = read;
  await untilWritten(
    'arqs',
    async () => {
      const isDeleted = arq.binding
        ? await releaseArqs(deps, arq.binding.instanceUuid, new Set([arq.uuid]), 'deleted')
        : await deleteUnbound(deps, arq);
      if (isDeleted) return undefined;
      // The ARQ was bound, unbound or deleted after it was read.
      const now = (await deps.store.arqs.byUuids([arq.uuid])).get(arq.uuid);
      if (!now) return undefined;
      if (now.binding) await refuseDeleteOfBound(deps, caller, now.binding.instanceUuid);
      arq = now;
      return contended;
    },
    `ARQ ${read.uuid} was not deleted`,
  );
}

async function deleteUnbound(deps: NovaDeps, arq: Arq): Promise<boolean> {
  const isDeleted = await deps.store.arqs.deleteUnbound(arq.uuid);
  if (isDeleted && arq.state === 'Initial') await leavePlace(deps, arq);
  return isDeleted;
}

function refuseDeleteOfBound(deps: NovaDeps, caller: Caller, instance: string): Promise<void> {
  const action = 'deleting a bound accelerator request';
  return refuseDeleteWithoutServiceToken(deps, caller, instance, action);
}
