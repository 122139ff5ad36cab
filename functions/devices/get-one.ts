import { deviceAnswer } from '#core/contracts/api/devices.ts';
import { findDevice } from '#core/operations/devices/find-by-id.ts';
import { action } from '#functions/http/action.ts';
import { isOperator } from '#functions/http/policy.ts';
import { viewDevice } from './view.ts';

/** Finds it by uuid, or by the integer id that deployables use. */
export const getOne = action(
  { answers: { 200: deviceAnswer }, refuses: [404] },
  async ({ deps, caller, id, base }) => {
    return { body: viewDevice(await findDevice(deps, id), base, isOperator(deps, caller)) };
  },
);
