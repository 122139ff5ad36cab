import { nounHandler } from '../http/noun-handler.ts';
import { forceReleaseAction } from './force-release.ts';
import { getAll } from './get-all.ts';
import { getOne } from './get-one.ts';

export const actions = {
  'get-all': getAll,
  'get-one': getOne,
  'force-release': forceReleaseAction,
};

export const handler = nounHandler('devices', actions);
