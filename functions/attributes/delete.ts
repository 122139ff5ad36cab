import { AttributeNotFound } from '#core/domain/errors.ts';
import { isUuid } from '#core/domain/uuid-form.ts';
import { deleteAttribute } from '#core/operations/devices/change-attributes.ts';
import { action } from '#functions/http/action.ts';

export const deleteOne = action(
  { answers: { 204: null }, refuses: [404, 409] },
  async ({ deps, caller, id }) => {
    if (!isUuid(id)) throw new AttributeNotFound(id);
    await deleteAttribute(deps, caller, id);
    return {};
  },
);
