import { shownProfile } from '#core/contracts/api/device-profiles.ts';
import { DeviceProfileNotFound } from '#core/domain/errors.ts';
import { isVisibleTo } from '#core/domain/profile/profile-changes.ts';
import { findProfile } from '#core/operations/profiles/find-profile.ts';
import { novaAction } from '#functions/http/action.ts';
import { noneExist } from './dialect.ts';
import { viewDeviceProfile } from './view.ts';

/**
 * Finds it by uuid or name at every microversion: the specification accepts both from the start,
 * and current clients send no microversion. A value in the form of a uuid is a uuid.
 */
export const getOne = novaAction(
  { answers: { 200: shownProfile }, refuses: [404, 422] },
  async ({ deps, caller, id, base, microversion }) => {
    const profile = await findProfile(deps, id);
    const isShown = profile && isVisibleTo(caller, profile, deps.settings.policy);
    if (isShown) return { body: { device_profile: viewDeviceProfile(profile, base) } };
    if (microversion === '2.0') throw noneExist(`No device profile of name or uuid ${id} exists.`);
    throw new DeviceProfileNotFound(id);
  },
);
