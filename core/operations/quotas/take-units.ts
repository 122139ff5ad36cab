import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import {
  countedClass,
  findShortage,
  limitedUnits,
  mayRecount,
  type Quota,
  type Unit,
} from '#core/domain/quota/quota.ts';
import { QuotaExceeded } from '#core/domain/quota/quota-errors.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { recount } from './recount.ts';

/** A recount that loses to another one is repeated once. */
const recountsMax = 2;

/**
 * Takes the units of ARQs that are about to be stored. A delete gives nothing back, so a creation
 * that finds too little left recounts once before it is refused. If the process dies before the
 * ARQs are stored, a recount gives their units back.
 *
 * @param initial the project's quota, as just read
 * @throws QuotaExceeded
 */
export async function takeUnits(
  deps: NovaDeps,
  initial: Quota,
  arqs: readonly Arq[],
): Promise<void> {
  const { projectId } = initial;
  const units: Unit[] = arqs.map(({ uuid, group }) => ({
    uuid,
    resourceClass: countedClass(group),
  }));
  let recounts = 0;
  await untilWritten(
    'quotas',
    async (round) => {
      const quota = round === 1 ? initial : await deps.store.quotas.byProject(projectId);
      if (!quota) return undefined;
      const limited = limitedUnits(quota, units);
      // Recent units are our own first attempt, whose answer was lost.
      if (limited.every(({ uuid, resourceClass }) => quota.recent[uuid] === resourceClass))
        return undefined;
      const shortage = findShortage(quota, limited);
      const nowMs = deps.clock();
      if (!shortage) {
        return (await deps.store.quotas.take(quota, limited, nowMs)) ? undefined : contended;
      }
      recounts += 1;
      if (recounts > recountsMax || !mayRecount(quota, nowMs)) {
        throw new QuotaExceeded(projectId, shortage);
      }
      await recount(deps, projectId);
      return contended;
    },
    `The quota of project ${projectId} was not taken`,
  );
}
