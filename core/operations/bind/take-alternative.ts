// What a bind does besides, where it has chosen one of several alternatives.

import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { Claim } from '#core/domain/arq/bind-plan.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { countedClass } from '#core/domain/quota/quota.ts';
import { takeUnits } from '#core/operations/quotas/take-units.ts';

/**
 * Takes units of the classes that the ARQs have not counted under until now. A recount gives back
 * those that they had.
 *
 * @returns whether a recount is needed
 * @throws QuotaExceeded
 */
export async function takeOtherClasses(
  deps: NovaDeps,
  projectId: string,
  before: ReadonlyMap<ArqUuid, Arq>,
  claims: readonly Claim[],
): Promise<boolean> {
  const changed = claims
    .map(({ arq }) => arq)
    .filter((arq) => {
      const earlier = before.get(arq.uuid);
      return earlier && countedClass(earlier.group) !== countedClass(arq.group);
    });
  if (changed.length === 0) return false;
  const quota = await deps.store.quotas.byProject(projectId);
  if (!quota) return false;
  await takeUnits(deps, quota, changed);
  return true;
}

/**
 * Ends the promise of a server that Placement counts. Only a preference depends on it: a promise
 * that is not settled ends by itself.
 */
export async function settlePromise(deps: NovaDeps, claims: readonly Claim[]): Promise<void> {
  const [first] = claims;
  const index = first?.arq.alternatives?.indexOf(first.arq.group);
  if (!first || index === undefined || index < 0) return;
  try {
    const { deviceProfileName: name, profileRevision: revision = 1 } = first.arq;
    await deps.store.promises.settle({ name, revision }, index, deps.clock());
  } catch (error) {
    deps.log.warn('A promise of an alternative was not settled', { error });
  }
}
