import type { NovaDeps } from '#core/deps.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { isUuid } from '#core/domain/uuid-form.ts';

/** @param id uuid or name; a value in the form of a uuid is a uuid */
export function findProfile(
  { store }: Pick<NovaDeps, 'store'>,
  id: string,
): Promise<DeviceProfile | undefined> {
  return isUuid(id) ? store.profiles.byUuid(id) : store.profiles.byName(id);
}
