import { holdDetailAnswer } from '#core/contracts/api/devices.ts';
import { HoldNotFound } from '#core/domain/operator-errors.ts';
import { findMatching } from '#core/operations/devices/hold-devices.ts';
import { action } from '#functions/http/action.ts';
import { viewHoldDetail } from './view-hold.ts';

export const getHold = action(
  { answers: { 200: holdDetailAnswer }, refuses: [404] },
  async ({ deps, id }) => {
    const { holds } = await deps.store.holds.holds();
    const hold = holds.find((each) => each.id === id);
    if (!hold) throw new HoldNotFound(id);
    const matching = await findMatching(deps, [hold]);
    return { body: viewHoldDetail(hold, matching?.get(id)) };
  },
);
