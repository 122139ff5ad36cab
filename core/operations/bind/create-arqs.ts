import type { Deps } from '../../deps.ts';
import type { Arq } from '../../domain/arq.ts';
import { type Caller, userActor } from '../../domain/caller.ts';
import { unboundUntil } from '../../domain/deadlines.ts';
import { arqCount } from '../../domain/device-profile.ts';
import { DeviceProfileNotFound, TooManyUnbound } from '../../domain/errors.ts';
import { type ArqUuid, timeOrderedUuid } from '../../domain/ids.ts';

/**
 * Unbound ARQs cost nothing to make, and each write of one tenant takes from what all share. The
 * index may lag by a moment: the limit need not be exact.
 *
 * @throws TooManyUnbound
 */
async function refuseTooMany(deps: Deps, projectId: string, wanted: number): Promise<void> {
  const { unboundArqsMax: max, unboundArqMinutes: minutes } = deps.settings;
  if (max === 0) return;
  const count = await deps.listings.countUnbound(projectId, max);
  if (count + wanted > max) throw new TooManyUnbound({ count, wanted, max, minutes });
}

/**
 * One ARQ per accelerator that the profile asks for, in the order of its groups.
 *
 * Nova sends no key by which a repeated POST could be told from a second one; what it forgets is
 * deleted by the sweep.
 */
export async function createArqs(deps: Deps, caller: Caller, profileName: string): Promise<Arq[]> {
  const profile = await deps.store.profiles.byName(profileName);
  if (!profile) throw new DeviceProfileNotFound(profileName);
  const now = deps.clock();
  const wanted = profile.groups.reduce((sum, group) => sum + arqCount(group), 0);
  await refuseTooMany(deps, caller.projectId, wanted);
  const arqs = profile.groups.flatMap((group, groupId) =>
    Array.from(
      { length: arqCount(group) },
      (): Arq => ({
        uuid: timeOrderedUuid(now, deps.randomBytes(10)) as ArqUuid,
        state: 'Initial',
        deviceProfileName: profile.name,
        groupId,
        group,
        projectId: caller.projectId,
        createdBy: userActor(caller),
        requestId: caller.requestId,
        createdAt: new Date(now).toISOString(),
      }),
    ),
  );
  await deps.store.arqs.create(arqs, unboundUntil(deps.settings, now));
  return arqs;
}
