import { parseBaselineId } from '#core/domain/device/firmware/firmware-baselines.ts';
import { deleteBaseline } from '#core/operations/devices/set-baseline.ts';
import { action } from '#functions/http/action.ts';

export const deleteBaselineAction = action(
  { answers: { 204: null }, refuses: [404] },
  async ({ deps, id, about }) => {
    const key = parseBaselineId(id);
    about({ ...key });
    await deleteBaseline(deps, key);
    return {};
  },
);
