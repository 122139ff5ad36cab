import { attributeAnswer } from '#core/contracts/api/deployables.ts';
import { addAttribute } from '#core/operations/devices/change-attributes.ts';
import { action } from '#functions/http/action.ts';
import { createBody } from './schema.ts';
import { viewAttribute } from './view.ts';

export const create = action(
  { body: createBody, answers: { 201: attributeAnswer }, refuses: [404, 409] },
  async ({ deps, caller, body, base, about }) => {
    const { deployable_id: deployable, ...attributeFields } =
      'attribute' in body ? body.attribute : body;
    about({ deployable, ...attributeFields });
    const attribute = await addAttribute(deps, caller, String(deployable), attributeFields);
    return { body: viewAttribute(attribute, base) };
  },
);
