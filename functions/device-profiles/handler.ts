import { createNovaDeps } from '#core/deps.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import { create } from './create.ts';
import { deleteOne } from './delete.ts';
import { deleteMany } from './delete-many.ts';
import { getAll } from './get-all.ts';
import { getOne } from './get-one.ts';

export const actions = {
  'get-all': getAll,
  'get-one': getOne,
  create,
  delete: deleteOne,
  'delete-many': deleteMany,
};

export const handler = resourceHandler('device-profiles', actions, () =>
  createNovaDeps('device-profiles'),
);
