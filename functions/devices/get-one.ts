import { deviceAnswer } from '#core/contracts/api/devices.ts';
import { findDevice } from '#core/operations/inventory/find-by-id.ts';
import { action } from '../http/action.ts';
import { isOperator } from '../http/policy.ts';
import { noQuery } from '../http/query.ts';
import { viewDevice } from './view.ts';

/** By uuid, or by the integer id that deployables use. */
export const getOne = action(
  { query: noQuery, answers: { 200: deviceAnswer }, refuses: [404] },
  async ({ deps, caller, id, base }) => {
    return { body: viewDevice(await findDevice(deps, id), base, isOperator(deps, caller)) };
  },
);
