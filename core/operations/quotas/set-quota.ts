import type { Deps } from '#core/deps.ts';
import { countUse, type Limits, type Quota } from '#core/domain/quota/quota.ts';
import { QuotaNotFound } from '#core/domain/quota/quota-errors.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { readArqs, recount } from './recount.ts';

/**
 * Creations that began before the quota was stored have not taken from it; each has ended by then.
 */
const recountAgainMs = 60_000;

/**
 * Sets the limits of a project: a class that is not among them has no limit. What the project has
 * already counts; a limit below its use refuses creations until the use is below the limit.
 */
export async function setQuota(deps: Deps, projectId: string, limits: Limits): Promise<Quota> {
  await untilWritten(
    'quotas',
    async () => ((await setOnce(deps, projectId, limits)) ? undefined : contended),
    `The quota of project ${projectId} was not set`,
  );
  // ARQs that were created between the count and the write.
  await recount(deps, projectId, recountAgainMs);
  const quota = await deps.store.quotas.byProject(projectId);
  if (!quota) throw new QuotaNotFound(projectId);
  deps.log.info('Quota set', { project: projectId, limits });
  return quota;
}

async function setOnce(deps: Deps, projectId: string, limits: Limits): Promise<boolean> {
  const nowMs = deps.clock();
  const now = new Date(nowMs).toISOString();
  const existing = await deps.store.quotas.byProject(projectId);
  const arqs = await readArqs(deps, projectId);
  const empty: Quota = {
    projectId,
    limits,
    unitsLeft: {},
    recent: {},
    revision: 0,
    countedArqs: arqs.size,
    countedAt: now,
    updatedAt: now,
  };
  const { inUse } = countUse(empty, [...arqs.values()], new Set(), nowMs);
  const unitsLeft = Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, limit - (inUse[name] ?? 0)]),
  );
  const recountAt = new Date(nowMs + recountAgainMs).toISOString();
  return existing
    ? deps.store.quotas.setLimits(existing, limits, unitsLeft, { updatedAt: now, recountAt })
    : deps.store.quotas.create({ ...empty, unitsLeft }, recountAt);
}

/** @throws QuotaNotFound */
export async function deleteQuota(deps: Deps, projectId: string): Promise<void> {
  if (!(await deps.store.quotas.delete(projectId))) throw new QuotaNotFound(projectId);
  deps.log.info('Quota deleted', { project: projectId });
}
