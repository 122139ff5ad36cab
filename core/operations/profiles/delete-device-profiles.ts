import type { Deps } from '../../deps.ts';
import type { DeviceProfile } from '../../domain/device-profile.ts';
import { DeviceProfileInUse, DeviceProfileNotFound, InvalidInput } from '../../domain/errors.ts';

const profilesMax = 50;

/**
 * Deletes all these profiles or none. A profile in use is refused as far as the index shows. An
 * ARQ that the index misses keeps working, because it has a copy of its group.
 *
 * @throws DeviceProfileNotFound naming the first that is missing; DeviceProfileInUse
 */
export async function deleteDeviceProfiles(
  deps: Deps,
  find: () => Promise<readonly DeviceProfile[]>,
): Promise<void> {
  const profiles = await find();
  if (profiles.length > profilesMax) {
    throw new InvalidInput(`At most ${profilesMax} device profiles can be deleted at once.`);
  }
  for (const { name } of profiles) {
    if (await deps.listings.isProfileInUse(name)) throw new DeviceProfileInUse(name);
  }
  if (await deps.store.profiles.delete(profiles)) return;
  // A profile was deleted or created again after it was read: read again.
  const left = await find();
  if (!(await deps.store.profiles.delete(left))) {
    throw new DeviceProfileNotFound(left.map((profile) => profile.name).join(', '));
  }
}
