import { RequestRefused, ServiceUnavailable } from '#core/clients/http.ts';
import {
  candidatesBody,
  candidatesQuery,
  toCandidates,
} from '#core/clients/openstack/candidates-query.ts';
import type { NovaDeps } from '#core/deps.ts';
import { countServers } from '#core/domain/placement/candidates.ts';
import { competingWith, type Groups, groupLists } from '#core/domain/profile/alternatives.ts';
import { arqCount, type DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { bestAlternative, countedAgain, isCurrent } from '#core/domain/profile/promises.ts';
import { countedClass, findShortage, type Quota } from '#core/domain/quota/quota.ts';

/** A server that only has candidates beyond them is given a later alternative. */
const candidatesMax = 200;
/** Each round follows on the promise of another request. */
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
  const [first = profile.groups, ...others] = lists;
  // The creation of its ARQs will be refused.
  if (others.length === 0 || profile.disabled) return first;
  try {
    return lists[await chooseIndex(deps, profile, lists, projectId)] ?? first;
  } catch (error) {
    // Only the order of preference depends on it.
    deps.log.warn('No alternative was chosen', { profile: profile.name, error });
    return first;
  }
}

async function chooseIndex(
  deps: NovaDeps,
  profile: DeviceProfile,
  lists: readonly Groups[],
  projectId: string,
): Promise<number> {
  const { promises, quotas } = deps.store;
  const promised = (index: number) => ({ index, competing: competingWith(lists, index) });
  // Nearly always the first fits, and the quota allows it.
  const [quota, isPromised] = await Promise.all([
    quotas.byProject(projectId),
    promises.giveUnread(profile, promised(0), deps.clock()),
  ]);
  const all = [...lists.keys()];
  const within = all.filter((index) => isWithin(quota, lists[index] ?? []));
  const allowed = within.length > 0 ? within : all;
  if (isPromised && allowed[0] === 0) return 0;
  if (isPromised) await promises.takeBack(profile, promised(0));
  let hasCounted = false;
  for (let round = 0; round < roundsMax; round += 1) {
    const stored = await promises.of(profile);
    const nowMs = deps.clock();
    // Its own count serves, however long Placement took.
    if (hasCounted || isCurrent(stored, nowMs)) {
      const { index, hasRoom } = bestAlternative(stored, allowed);
      if (!hasRoom || (await promises.give(profile, promised(index)))) return index;
    } else {
      const free = await countAll(deps, lists);
      const read = await promises.of(profile);
      if (free) await promises.count(profile, countedAgain(free, read, nowMs));
      hasCounted = true;
    }
  }
  return allowed[0] ?? 0;
}

/** What is left may be more than the quota shows, until the next recount. */
function isWithin(quota: Quota | undefined, groups: Groups): boolean {
  if (!quota) return true;
  const units = groups.flatMap((group) =>
    Array.from({ length: arqCount(group) }, () => ({ resourceClass: countedClass(group) })),
  );
  return findShortage(quota, units) === undefined;
}

/** Undefined where Placement cannot be asked: then the last count is the best that there is. */
async function countAll(
  { clients, log }: NovaDeps,
  lists: readonly Groups[],
): Promise<number[] | undefined> {
  try {
    return await Promise.all(
      lists.map(async (groups) => {
        const query = candidatesQuery(groups, candidatesMax);
        const body = await clients.placement.candidates(query, candidatesBody);
        return body ? countServers(groups, toCandidates(body, groups.length)) : 0;
      }),
    );
  } catch (error) {
    if (!(error instanceof ServiceUnavailable || error instanceof RequestRefused)) throw error;
    log.warn('The room of alternatives was not counted', { error });
    return undefined;
  }
}
