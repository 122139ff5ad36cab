import * as z from 'zod';
import { operatorProfile } from '#core/contracts/api/device-profiles.ts';
import { disableDeviceProfile } from '#core/operations/profiles/update-device-profile.ts';
import { action } from '#functions/http/action.ts';
import { profileReply } from './view-profile.ts';

const body = z.strictObject({
  reason: z
    .string()
    .min(1)
    .max(255)
    .meta({ description: 'shown to users whose request for accelerators is refused' }),
});

export const disableProfileAction = action(
  { body, answers: { 200: operatorProfile }, refuses: [404] },
  async ({ deps, id, body: { reason }, about }) => {
    about({ reason });
    return profileReply(await disableDeviceProfile(deps, id, reason));
  },
);
