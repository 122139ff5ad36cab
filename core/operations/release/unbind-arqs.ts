import type { NovaDeps } from '#core/deps.ts';
import { type Caller, maySee } from '#core/domain/caller.ts';
import { ArqNotFound } from '#core/domain/errors.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import {
  refuseWhereTokensAreRequired,
  refuseWithoutServiceToken,
} from '#core/operations/service-token.ts';
import { releaseArqs } from './release-arqs.ts';

/**
 * Takes ARQs from their instance and keeps them. Those that are bound to none stay as they are.
 */
export async function unbindArqs(
  deps: NovaDeps,
  caller: Caller,
  uuids: readonly ArqUuid[],
): Promise<void> {
  refuseWhereTokensAreRequired(deps, caller, 'unbinding');
  const stored = await deps.store.arqs.byUuids(uuids);
  const missing = uuids.filter((uuid) => {
    const arq = stored.get(uuid);
    return !arq || !maySee(caller, arq.projectId);
  });
  if (missing.length > 0) throw new ArqNotFound(missing);
  const instances = new Set([...stored.values()].flatMap((arq) => arq.binding?.instanceUuid ?? []));
  for (const instance of instances) {
    await refuseWithoutServiceToken(deps, caller, instance, 'unbinding');
  }
  for (const instance of instances) {
    await releaseArqs(deps, instance, new Set(uuids), 'unbound');
  }
}
