import { deployableAnswer } from '#core/contracts/api/deployables.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { isIntegerText } from '#core/domain/integer-id.ts';
import { isUuid } from '#core/domain/uuid-form.ts';
import { findDeployable } from '#core/operations/devices/find-by-id.ts';
import { action } from '#functions/http/action.ts';
import { isOperator } from '#functions/http/policy.ts';
import { viewDeployable } from './view.ts';

/** Finds it by uuid, or by the integer id that attributes use. */
export const getOne = action(
  { answers: { 200: deployableAnswer }, refuses: [404] },
  async ({ deps, caller, id, base }) => {
    if (!isUuid(id) && !isIntegerText(id)) {
      throw new InvalidInput(`${JSON.stringify(id)} is not the uuid of a deployable.`);
    }
    const deployable = await findDeployable(deps, id);
    const isWritten = deployable.programs?.some(({ state }) => state === 'started');
    const device = isWritten && (await deps.listings.deviceByUuid(deployable.deviceUuid));
    const { components } = device || {};
    return { body: viewDeployable(deployable, base, isOperator(deps, caller), components) };
  },
);
