import { nounHandler } from '../http/noun-handler.ts';
import { getAll } from './get-all.ts';
import { getOne } from './get-one.ts';

export const actions = { 'get-all': getAll, 'get-one': getOne };

export const handler = nounHandler('deployables', actions);
