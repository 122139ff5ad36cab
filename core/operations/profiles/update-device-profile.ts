import type { Deps } from '#core/deps.ts';
import {
  DeviceProfileExists,
  DeviceProfileNotFound,
  DeviceProfileStale,
} from '#core/domain/errors.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import {
  nextRevision,
  type ProfileContent,
  toContent,
} from '#core/domain/profile/profile-changes.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { findProfile } from './find-profile.ts';

/**
 * Writes the next revision of a profile. ARQs have copies of their groups, so what servers have
 * stays. The same call again changes nothing.
 *
 * @param id uuid or name
 * @param change the content after the change, from the profile before it
 * @param revision the one that the caller has read, if it must still be the last
 * @throws DeviceProfileNotFound, DeviceProfileStale, DeviceProfileExists, InvalidInput
 */
export async function updateDeviceProfile(
  deps: Deps,
  id: string,
  change: (profile: DeviceProfile) => ProfileContent,
  revision?: number,
): Promise<DeviceProfile> {
  return untilWritten(
    'profiles',
    async () => {
      const profile = await findProfile(deps, id);
      if (!profile) throw new DeviceProfileNotFound(id);
      if (revision !== undefined && revision !== profile.revision) {
        throw new DeviceProfileStale(profile.name, profile.revision);
      }
      const next = nextRevision(profile, change(profile), makeChangeNote(deps));
      if (!next) return profile;
      const outcome = await deps.store.profiles.update(profile, next);
      if (outcome === 'name-taken') throw new DeviceProfileExists('name', next.name);
      if (outcome === 'changed') return contended;
      deps.log.info('Device profile changed', { profile: next.name, revision: next.revision });
      return next;
    },
    `Device profile ${id} was not changed`,
  );
}

/** New ARQs of it are refused with the reason. The same call again changes nothing. */
export function disableDeviceProfile(
  deps: Deps,
  id: string,
  reason: string,
): Promise<DeviceProfile> {
  return updateDeviceProfile(deps, id, (profile) => {
    const isSame = profile.disabled?.reason === reason;
    const disabled = isSame ? profile.disabled : { ...makeChangeNote(deps), reason };
    return { ...toContent(profile), disabled };
  });
}

export function enableDeviceProfile(deps: Deps, id: string): Promise<DeviceProfile> {
  return updateDeviceProfile(deps, id, (profile) => ({
    ...toContent(profile),
    disabled: undefined,
  }));
}
