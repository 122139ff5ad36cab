import type { NovaDeps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import { type Caller, userActor } from '#core/domain/caller.ts';
import { unboundUntil } from '#core/domain/host-work/deadlines.ts';
import { type ArqUuid, timeOrderedUuid } from '#core/domain/ids.ts';
import { type Groups, groupLists } from '#core/domain/profile/alternatives.ts';
import { arqCount, type DeviceProfile, type Group } from '#core/domain/profile/device-profile.ts';
import { checkUsable, mayBeScheduledOtherwise } from '#core/domain/profile/profile-changes.ts';
import type { Quota } from '#core/domain/quota/quota.ts';
import { QuotaExceeded } from '#core/domain/quota/quota-errors.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { keepPlaces, takePlaces } from '#core/operations/quotas/take-places.ts';
import { takeUnits } from '#core/operations/quotas/take-units.ts';
import { groupsForImage } from './image-groups.ts';

/**
 * One ARQ per accelerator that the profile asks for, in the order of its groups.
 *
 * Nova sends no key that marks a POST as a repetition; the sweep deletes the ARQs that it forgets.
 *
 * @param imageUuid the server's image, which may name what its FPGAs hold
 * @throws DomainError, ServiceUnavailable
 */
export async function createArqs(
  deps: NovaDeps,
  caller: Caller,
  profileName: string,
  imageUuid?: string,
): Promise<readonly Arq[]> {
  const [profile, quota] = await Promise.all([
    deps.store.profiles.byName(profileName),
    deps.store.quotas.byProject(caller.projectId),
  ]);
  checkUsable(profileName, profile, caller, deps.settings.policy);
  const lists = await forImage(deps, groupLists(profile), imageUuid, caller.projectId);
  return untilWritten(
    'quotas',
    async (round) => {
      const current = round === 1 ? quota : await deps.store.quotas.byProject(caller.projectId);
      const alternatives = buildAlternatives(deps, caller, profile, lists);
      await takePlaces(deps, caller.projectId, alternatives[0] ?? []);
      const arqs = await takeFirst(deps, current, alternatives);
      const dueAt = unboundUntil(deps.settings, deps.clock());
      if (!(await deps.store.arqs.create(arqs, dueAt))) return contended;
      await keepPlaces(deps, caller.projectId, arqs);
      return arqs;
    },
    `The ARQs of project ${caller.projectId} were not stored`,
  );
}

function forImage(
  deps: NovaDeps,
  lists: readonly Groups[],
  imageUuid: string | undefined,
  projectId: string,
): Promise<readonly Groups[]> {
  if (!imageUuid) return Promise.resolve(lists);
  return Promise.all(lists.map((groups) => groupsForImage(deps, groups, imageUuid, projectId)));
}

/**
 * The ARQs as the first alternative has them that the quota allows: they count under its classes
 * until their bind.
 *
 * @param alternatives the same ARQs in each alternative
 * @throws QuotaExceeded of the first
 */
async function takeFirst(
  deps: NovaDeps,
  quota: Quota | undefined,
  alternatives: readonly Arq[][],
): Promise<readonly Arq[]> {
  const [first = [], ...others] = alternatives;
  if (!quota) return first;
  try {
    await takeUnits(deps, quota, first);
    return first;
  } catch (refusal) {
    if (!(refusal instanceof QuotaExceeded)) throw refusal;
    for (const arqs of others) {
      // The refusal may have recounted it.
      const current = await deps.store.quotas.byProject(quota.projectId);
      if (!current || (await isTaken(deps, current, arqs))) return arqs;
    }
    throw refusal;
  }
}

async function isTaken(deps: NovaDeps, quota: Quota, arqs: readonly Arq[]): Promise<boolean> {
  try {
    await takeUnits(deps, quota, arqs);
    return true;
  } catch (error) {
    if (error instanceof QuotaExceeded) return false;
    throw error;
  }
}

/** One list of ARQs for each alternative; the uuids are the same in all. */
function buildAlternatives(
  deps: NovaDeps,
  caller: Caller,
  profile: DeviceProfile,
  lists: readonly Groups[],
): Arq[][] {
  const first = buildArqs(deps, caller, { ...profile, groups: lists[0] ?? [] });
  if (lists.length === 1) return [first];
  return lists.map((groups) =>
    first.map((arq) => ({
      ...arq,
      group: groups[arq.groupId] as Group,
      alternatives: lists.map((each) => each[arq.groupId] as Group),
    })),
  );
}

function buildArqs(deps: NovaDeps, caller: Caller, profile: DeviceProfile): Arq[] {
  const now = deps.clock();
  const checksAllocation = mayBeScheduledOtherwise(profile, now);
  return profile.groups.flatMap((group, groupId) =>
    Array.from(
      { length: arqCount(group) },
      (): Arq => ({
        uuid: timeOrderedUuid(now, deps.randomBytes(10)) as ArqUuid,
        state: 'Initial',
        deviceProfileName: profile.name,
        groupId,
        group,
        projectId: caller.projectId,
        profileRevision: profile.revision,
        ...(checksAllocation && { checksAllocation }),
        createdBy: userActor(caller),
        requestId: caller.requestId,
        createdAt: new Date(now).toISOString(),
      }),
    ),
  );
}
