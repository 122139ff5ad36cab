import { setDeviceStatus } from '#core/operations/devices/set-device-status.ts';
import { action } from '#functions/http/action.ts';
import { noQuery } from '#functions/http/query.ts';

/** Deployed Cyborg's form; a body is ignored. */
export const disable = action(
  { query: noQuery, answers: { 204: null }, refuses: [404] },
  async ({ deps, caller, id }) => {
    await setDeviceStatus(deps, caller, id, 'maintaining', undefined);
    return {};
  },
);
