import { createNovaDeps } from '#core/deps.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import { create } from './create.ts';
import { deleteAction } from './delete.ts';
import { getAll } from './get-all.ts';
import { getOne } from './get-one.ts';
import { update } from './update.ts';

export const actions = {
  'get-all': getAll,
  'get-one': getOne,
  create,
  update,
  delete: deleteAction,
};

export const handler = resourceHandler('accelerator-requests', actions, () =>
  createNovaDeps('accelerator-requests'),
);
