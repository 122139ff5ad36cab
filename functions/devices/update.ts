import * as z from 'zod';
import type { DeviceStatus } from '#core/domain/device/device.ts';
import { setDeviceStatus } from '#core/operations/devices/set-device-status.ts';
import { action } from '#functions/http/action.ts';

/** The specification says `disabled`, deployed Cyborg shows `maintaining`. */
const statuses: Readonly<Record<'enabled' | 'disabled' | 'maintaining', DeviceStatus>> = {
  enabled: 'enabled',
  disabled: 'maintaining',
  maintaining: 'maintaining',
};

const body = z.tuple([
  z.strictObject({
    op: z.literal('replace'),
    path: z.literal('/status'),
    value: z.enum(['enabled', 'disabled', 'maintaining']),
    reason: z.string().max(1024).nullish(),
  }),
]);

/** The specification's form, with a reason. */
export const update = action(
  { body, answers: { 204: null }, refuses: [404] },
  async ({ deps, caller, id, body: [{ value, reason }] }) => {
    await setDeviceStatus(deps, caller, id, statuses[value], reason ?? undefined);
    return {};
  },
);
