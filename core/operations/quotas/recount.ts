import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { ArqUuid } from '#core/domain/ids.ts';
import { countUse, isJustBegun, type Quota } from '#core/domain/quota/quota.ts';

/** How often the sweep recounts a quota. */
const recountEveryMs = 10 * 60_000;
/** Longer than any request runs. */
const barredMs = 60 * 60_000;

/**
 * Counts the project's ARQs and stores what is left of its quota: units of ARQs that were deleted,
 * and of creations that died, are free again. Creations that run meanwhile are not disturbed,
 * except those that took their units more than a second ago and have stored nothing: they start
 * again.
 *
 * @param againMs after which time the sweep recounts
 * @returns false if the project has no quota, or if another recount or new limits came first
 */
export async function recount(
  deps: NovaDeps,
  projectId: string,
  againMs = recountEveryMs,
): Promise<boolean> {
  const readAtMs = deps.clock();
  const quota = await deps.store.quotas.byProject(projectId);
  if (!quota) return false;
  const arqs = await readArqs(deps, projectId, Object.keys(quota.recent) as ArqUuid[]);
  const begun = await findBegun(deps, quota, arqs);
  const nowMs = deps.clock();
  return deps.store.quotas.recounted(quota, countUse(quota, [...arqs.values()], begun, readAtMs), {
    countedAt: new Date(nowMs).toISOString(),
    recountAt: new Date(nowMs + againMs).toISOString(),
  });
}

/**
 * The stored ARQs of the project, and those of the given uuids: the index may lack recent ones,
 * and show deleted ones.
 */
export async function readArqs(
  deps: NovaDeps,
  projectId: string,
  recent: readonly ArqUuid[] = [],
): Promise<Map<ArqUuid, Arq>> {
  const shown = await deps.listings.arqUuidsOf(projectId);
  const stored = await deps.store.arqs.byUuids([...shown, ...recent]);
  // A bind may have moved an ARQ to the project of its instance.
  return new Map([...stored].filter(([, arq]) => arq.projectId === projectId));
}

/**
 * The recent creations that may still store their ARQs. One that is not stored after a second has
 * most likely died, or its ARQ was deleted: its uuid is barred, and then nothing can store it.
 *
 * @param arqs gets those that were stored meanwhile
 */
async function findBegun(
  deps: NovaDeps,
  { projectId, recent }: Quota,
  arqs: Map<ArqUuid, Arq>,
): Promise<Set<string>> {
  const begun = new Set<string>();
  for (const uuid of Object.keys(recent) as ArqUuid[]) {
    if (arqs.has(uuid)) continue;
    const nowMs = deps.clock();
    if (isJustBegun(uuid, nowMs)) {
      begun.add(uuid);
    } else if (!(await deps.store.arqs.bar(uuid, Math.ceil((nowMs + barredMs) / 1000)))) {
      const arq = (await deps.store.arqs.byUuids([uuid])).get(uuid);
      if (arq?.projectId === projectId) arqs.set(uuid, arq);
    }
  }
  return begun;
}
