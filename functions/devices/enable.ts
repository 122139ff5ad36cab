import { setDeviceStatus } from '#core/operations/devices/set-device-status.ts';
import { action } from '#functions/http/action.ts';

/** Deployed Cyborg's form; a body is ignored. */
export const enable = action(
  { answers: { 204: null }, refuses: [404] },
  async ({ deps, caller, id }) => {
    await setDeviceStatus(deps, caller, id, 'enabled', undefined);
    return {};
  },
);
