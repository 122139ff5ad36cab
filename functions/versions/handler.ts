import { createDeps } from '#core/deps.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import { getOpenapi } from './get-openapi.ts';
import { getRoot } from './get-root.ts';
import { getV2 } from './get-v2.ts';

export const actions = { 'get-root': getRoot, 'get-v2': getV2, 'get-openapi': getOpenapi };

export const handler = resourceHandler('versions', actions, () => createDeps('versions'));
