import { createDeps } from '#core/deps.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import { getAll } from './get-all.ts';
import { getOne } from './get-one.ts';
import { program } from './program.ts';
import { update } from './update.ts';

export const actions = { 'get-all': getAll, 'get-one': getOne, update, program };

export const handler = resourceHandler('deployables', actions, () => createDeps('deployables'));
