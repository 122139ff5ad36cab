// What a bind does besides, where it has chosen one of several alternatives.

import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import { byRequest, listsOf } from '#core/domain/arq/bind-alternatives.ts';
import type { Claim } from '#core/domain/arq/bind-plan.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { competingWith } from '#core/domain/profile/alternatives.ts';
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
  // An administrator moves the server of another project, which keeps what it has.
  if (changed.some((arq) => arq.projectId !== projectId)) return true;
  if (changed.length === 0) return false;
  const quota = await deps.store.quotas.byProject(projectId);
  if (!quota) return false;
  await takeUnits(deps, quota, changed);
  return true;
}

/**
 * Ends the promises of a server that Placement counts. Only a preference depends on them: one that
 * is not settled ends by itself.
 */
export async function settlePromises(deps: NovaDeps, claims: readonly Claim[]): Promise<void> {
  for (const arqs of byRequest(claims.map(({ arq }) => arq)).values()) {
    const [first] = arqs;
    const index = first?.alternatives?.indexOf(first.group) ?? -1;
    if (!first || index < 0) continue;
    const { deviceProfileName: name, profileRevision: revision = 1 } = first;
    const promised = { index, competing: competingWith(listsOf(arqs), index) };
    try {
      await deps.store.promises.settle({ name, revision }, promised);
    } catch (error) {
      deps.log.warn('A promise of an alternative was not settled', { error });
    }
  }
}
