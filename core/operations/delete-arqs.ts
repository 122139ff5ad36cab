import type { Deps } from '../deps.ts';
import type { Arq } from '../domain/arq.ts';
import { type Caller, maySee } from '../domain/caller.ts';
import { ArqNotFound } from '../domain/errors.ts';
import type { ArqUuid } from '../domain/ids.ts';
import { releaseArqs } from './release-arqs.ts';
import { refuseDeleteWithoutServiceToken } from './service-token.ts';

/** As often as an ARQ may be bound or unbound between reading and deleting it. */
const roundsMax = 30;

/** Deletes all ARQs of an instance, and frees what they hold. None there is success, too. */
export async function deleteArqsOfInstance(
  deps: Deps,
  caller: Caller,
  instanceUuid: string,
): Promise<void> {
  await refuseDeleteWithoutServiceToken(deps, caller, instanceUuid, 'deleting by instance');
  const binding = await deps.store.arqs.binding(instanceUuid);
  if (!binding || !maySee(caller, binding.projectId)) return;
  await releaseArqs(deps, instanceUuid, 'all', 'deleted', binding);
}

/**
 * Deletes the ARQs that exist, then names those that do not: Nova counts on the first and takes the
 * second for granted.
 *
 * @throws ArqNotFound after everything else was deleted.
 */
export async function deleteArqs(
  deps: Deps,
  caller: Caller,
  uuids: readonly ArqUuid[],
): Promise<void> {
  const stored = await deps.store.arqs.byUuids(uuids);
  const found = uuids
    .flatMap((uuid) => stored.get(uuid) ?? [])
    .filter((arq) => maySee(caller, arq.projectId));
  for (const instance of new Set(found.flatMap((arq) => arq.binding?.instanceUuid ?? []))) {
    await refuseDeleteWithoutServiceToken(
      deps,
      caller,
      instance,
      'deleting a bound accelerator request',
    );
  }
  for (const arq of found) await deleteArq(deps, caller, arq);
  const missing = uuids.filter((uuid) => !found.some((arq) => arq.uuid === uuid));
  if (missing.length > 0) throw new ArqNotFound(missing);
}

async function deleteArq(deps: Deps, caller: Caller, found: Arq): Promise<void> {
  let arq = found;
  for (let round = 1; round <= roundsMax; round++) {
    const isDeleted = arq.binding
      ? await releaseArqs(deps, arq.binding.instanceUuid, new Set([arq.uuid]), 'deleted')
      : await deps.store.arqs.deleteUnbound(arq.uuid);
    if (isDeleted) return;
    // Bound, unbound or deleted since it was read.
    const now = (await deps.store.arqs.byUuids([arq.uuid])).get(arq.uuid);
    if (!now) return;
    if (now.binding) {
      await refuseDeleteWithoutServiceToken(
        deps,
        caller,
        now.binding.instanceUuid,
        'deleting a bound accelerator request',
      );
    }
    arq = now;
  }
  throw new Error(`ARQ ${found.uuid} was not deleted in ${roundsMax} rounds.`);
}
