import { createDeps } from '#core/deps.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import { disable } from './disable.ts';
import { enable } from './enable.ts';
import { forceReleaseAction } from './force-release.ts';
import { getAll } from './get-all.ts';
import { getOne } from './get-one.ts';
import { update } from './update.ts';

export const actions = {
  'get-all': getAll,
  'get-one': getOne,
  'force-release': forceReleaseAction,
  enable,
  disable,
  update,
};

export const handler = resourceHandler('devices', actions, () => createDeps('devices'));
