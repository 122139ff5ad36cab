import { operatorProfile } from '#core/contracts/api/device-profiles.ts';
import { enableDeviceProfile } from '#core/operations/profiles/update-device-profile.ts';
import { action } from '#functions/http/action.ts';
import { profileReply } from './view-profile.ts';

export const enableProfileAction = action(
  { answers: { 200: operatorProfile }, refuses: [404] },
  async ({ deps, id }) => profileReply(await enableDeviceProfile(deps, id)),
);
