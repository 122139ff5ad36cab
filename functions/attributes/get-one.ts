import { attributeAnswer } from '#core/contracts/api/deployables.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { isUuid } from '#core/domain/uuid-form.ts';
import { findAttribute } from '#core/operations/devices/change-attributes.ts';
import { action } from '#functions/http/action.ts';
import { viewAttribute } from './view.ts';

export const getOne = action(
  { answers: { 200: attributeAnswer }, refuses: [404] },
  async ({ deps, id, base }) => {
    if (!isUuid(id))
      throw new InvalidInput(`${JSON.stringify(id)} is not the uuid of an attribute.`);
    return { body: viewAttribute((await findAttribute(deps, id)).attribute, base) };
  },
);
