import type { Deps } from '../deps.ts';
import type { DeviceProfile } from '../domain/device-profile.ts';
import { DeviceProfileNotFound, InvalidInput } from '../domain/errors.ts';

const profilesMax = 50;

/**
 * Deletes all these profiles or none. ARQs made of them stay true: each has a copy of its group.
 *
 * @throws DeviceProfileNotFound naming the first that is missing
 */
export async function deleteDeviceProfiles(
  deps: Deps,
  find: () => Promise<readonly DeviceProfile[]>,
): Promise<void> {
  const profiles = await find();
  if (profiles.length > profilesMax) {
    throw new InvalidInput(`At most ${profilesMax} device profiles can be deleted at once.`);
  }
  if (await deps.store.profiles.delete(profiles)) return;
  // One was deleted, or made anew, since it was read: whoever did that came first.
  const left = await find();
  if (!(await deps.store.profiles.delete(left))) {
    throw new DeviceProfileNotFound(left.map((profile) => profile.name).join(', '));
  }
}
