import * as z from 'zod';
import { resetAnswer } from '#core/contracts/api/devices.ts';
import { findDevice } from '#core/operations/devices/find-by-id.ts';
import { resetDevice } from '#core/operations/inventory/reset-device.ts';
import { action } from '#functions/http/action.ts';

const body = z
  .strictObject({
    reason: z.string().max(1024).optional().meta({ description: 'why; the log keeps it' }),
  })
  .optional();

export const resetDeviceAction = action(
  { body, answers: { 202: resetAnswer }, refuses: [404, 409] },
  async ({ deps, id, body: word, about }) => {
    about({ reason: word?.reason });
    const device = await findDevice(deps, id);
    const cleaning = await resetDevice(deps, device);
    return { status: 202, body: { device_uuid: device.uuid, cleaning } };
  },
);
