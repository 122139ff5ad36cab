import { operatorProfile } from '#core/contracts/api/device-profiles.ts';
import { DeviceProfileNotFound } from '#core/domain/errors.ts';
import { findProfile } from '#core/operations/profiles/find-profile.ts';
import { action } from '#functions/http/action.ts';
import { profileReply } from './view-profile.ts';

export const getProfile = action(
  { answers: { 200: operatorProfile }, refuses: [404] },
  async ({ deps, id }) => {
    const profile = await findProfile(deps, id);
    if (!profile) throw new DeviceProfileNotFound(id);
    return profileReply(profile);
  },
);
