import * as z from 'zod';
import { freedAnswer } from '#core/contracts/api/devices.ts';
import { findDevice } from '#core/operations/devices/find-by-id.ts';
import { forceRelease } from '#core/operations/release/force-release.ts';
import { action } from '#functions/http/action.ts';

const forceReleaseBody = z
  .strictObject({
    reason: z.string().max(1024).optional(),
    cleaned: z.boolean().optional().meta({
      description: 'true: the operator has cleaned the device; the host does not clean it again',
    }),
  })
  .optional();

/** Not in Cyborg, which has no quarantine. */
export const forceReleaseAction = action(
  {
    body: forceReleaseBody,
    // 202: the host was asked to clean up first.
    answers: { 200: freedAnswer, 202: freedAnswer },
    refuses: [404, 409],
  },
  async ({ deps, caller, id, body }) => {
    const device = await findDevice(deps, id);
    const { freed, cleaning } = await forceRelease(deps, caller, device, {
      reason: body?.reason,
      isCleaned: body?.cleaned === true,
    });
    return {
      status: cleaning.length > 0 ? 202 : 200,
      body: { device_uuid: device.uuid, attach_handles: freed, cleaning },
    };
  },
);
