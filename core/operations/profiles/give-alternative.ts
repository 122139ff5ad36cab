import { RequestRefused, ServiceUnavailable } from '#core/clients/http.ts';
import type { NovaDeps } from '#core/deps.ts';
import { countServers } from '#core/domain/placement/candidates.ts';
import { type Groups, groupLists } from '#core/domain/profile/alternatives.ts';
import { arqCount, type DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { bestAlternative, isCurrent } from '#core/domain/profile/promises.ts';
import { countedClass, findShortage, type Quota } from '#core/domain/quota/quota.ts';

/** A server that only has candidates beyond them is given a later alternative. */
const candidatesMax = 200;
/** Each round follows on a promise or a count of another request. */
const roundsMax = 12;

/**
 * The groups of the alternative that a server which Nova creates now is given: the first for which
 * Placement has candidates beyond those that others were promised in the last moments. Where that
 * cannot be known, the first.
 *
 * @param projectId whose quota must allow it
 */
export async function giveAlternative(
  deps: NovaDeps,
  profile: DeviceProfile,
  projectId: string,
): Promise<Groups> {
  const lists = groupLists(profile);
  if (lists.length === 1) return profile.groups;
  // Nearly always the first fits, and the quota allows it.
  const [quota, isPromised] = await Promise.all([
    deps.store.quotas.byProject(projectId),
    deps.store.promises.giveUnread(profile, 0, deps.clock()),
  ]);
  const allowed = [...lists.keys()].filter((index) => isWithin(quota, lists[index] ?? []));
  if (allowed[0] === 0 && isPromised) return lists[0] ?? profile.groups;
  if (isPromised) await deps.store.promises.settle(profile, 0, deps.clock());
  const index = await chooseIndex(deps, profile, lists, allowed.length > 0 ? allowed : [0]);
  return lists[index] ?? profile.groups;
}

/** The creation of the ARQs recounts before it refuses, so this may skip one that would do. */
function isWithin(quota: Quota | undefined, groups: Groups): boolean {
  if (!quota) return true;
  const units = groups.flatMap((group) =>
    Array.from({ length: arqCount(group) }, () => ({ resourceClass: countedClass(group) })),
  );
  return findShortage(quota, units) === undefined;
}

async function chooseIndex(
  deps: NovaDeps,
  profile: DeviceProfile,
  lists: readonly Groups[],
  allowed: readonly number[],
): Promise<number> {
  const { promises } = deps.store;
  try {
    for (let round = 0; round < roundsMax; round += 1) {
      const stored = await promises.of(profile);
      const nowMs = deps.clock();
      if (isCurrent(stored, nowMs)) {
        const { index, hasRoom } = bestAlternative(stored, allowed);
        if (!hasRoom || (await promises.give(profile, index, nowMs))) return index;
      } else {
        const free = await countAll(deps, lists);
        await promises.count(profile, free, await promises.of(profile), nowMs);
      }
    }
  } catch (error) {
    if (!(error instanceof ServiceUnavailable || error instanceof RequestRefused)) throw error;
    deps.log.warn('No alternative was chosen: Placement cannot be asked', { error });
  }
  return allowed[0] ?? 0;
}

function countAll({ clients }: NovaDeps, lists: readonly Groups[]): Promise<number[]> {
  return Promise.all(
    lists.map(async (groups) => {
      const candidates = await clients.placement.candidates(groups, candidatesMax);
      return countServers(groups, candidates);
    }),
  );
}
