import type { NovaDeps } from '#core/deps.ts';
import { DeviceProfileInUse, DeviceProfileNotFound, InvalidInput } from '#core/domain/errors.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { profileRowCount } from '#core/store/device-profiles.ts';
import { transactItemsMax } from '#core/store/table/writes.ts';

/** Two rows each and one for all. */
const profilesMax = 49;

/**
 * Deletes all these profiles or none. A profile in use is refused as far as the index shows. An
 * ARQ that the index misses keeps working, because it has a copy of its group.
 *
 * @throws DeviceProfileNotFound naming the first that is missing; DeviceProfileInUse
 */
export async function deleteDeviceProfiles(
  deps: NovaDeps,
  find: () => Promise<readonly DeviceProfile[]>,
): Promise<void> {
  const profiles = await find();
  if (profiles.length > profilesMax) {
    throw new InvalidInput(`At most ${profilesMax} device profiles can be deleted at once.`);
  }
  const rows = profiles.reduce((sum, profile) => sum + profileRowCount(profile), 1);
  if (rows > transactItemsMax) {
    throw new InvalidInput('These profiles have too many former names to be deleted at once.');
  }
  for (const { name, formerNames = [] } of profiles) {
    for (const each of [name, ...formerNames]) {
      if (await deps.listings.isProfileInUse(each)) throw new DeviceProfileInUse(name);
    }
  }
  const change = makeChangeNote(deps);
  if (await deps.store.profiles.delete(profiles, change)) return;
  // A profile was deleted or created again after it was read: read again.
  const left = await find();
  if (!(await deps.store.profiles.delete(left, change))) {
    throw new DeviceProfileNotFound(left.map((profile) => profile.name).join(', '));
  }
}
