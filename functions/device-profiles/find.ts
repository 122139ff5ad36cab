import type { NovaDeps } from '#core/deps.ts';
import { DeviceProfileNotFound } from '#core/domain/errors.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { findProfile } from '#core/operations/profiles/find-profile.ts';

/**
 * Finds the named profiles, each once.
 *
 * @throws DeviceProfileNotFound naming the first that does not exist
 */
export async function findProfiles(
  deps: NovaDeps,
  ids: readonly string[],
  by: 'name' | 'any',
): Promise<DeviceProfile[]> {
  const profiles = await Promise.all(
    [...new Set(ids)].map(async (each) => {
      const { profiles } = deps.store;
      const profile = await (by === 'any' ? findProfile(deps, each) : profiles.byName(each));
      if (!profile) throw new DeviceProfileNotFound(each);
      return profile;
    }),
  );
  return [...new Map(profiles.map((profile) => [profile.uuid, profile])).values()];
}
