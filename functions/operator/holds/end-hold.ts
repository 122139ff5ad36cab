import { endHold } from '#core/operations/devices/hold-devices.ts';
import { action } from '#functions/http/action.ts';

export const endHoldAction = action(
  { answers: { 204: null }, refuses: [404] },
  async ({ deps, caller, id, about }) => {
    about({ hold: id });
    await endHold(deps, caller, id);
    return {};
  },
);
