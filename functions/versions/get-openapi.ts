import * as z from 'zod';
import { actions as acceleratorRequests } from '#functions/accelerator-requests/handler.ts';
import { actions as attributes } from '#functions/attributes/handler.ts';
import { actions as deployables } from '#functions/deployables/handler.ts';
import { actions as deviceProfiles } from '#functions/device-profiles/handler.ts';
import { actions as devices } from '#functions/devices/handler.ts';
import { type Action, action } from '#functions/http/action.ts';
import { type Actions, openApi } from '#functions/http/openapi.ts';
import { actions as operator } from '#functions/operator/handler.ts';
import { getRoot } from './get-root.ts';
import { getV2 } from './get-v2.ts';

/** `/openapi.json`, without a token. */
export const getOpenapi: Action = action(
  { answers: { 200: z.looseObject({ openapi: z.string() }) } },
  async ({ base }) => ({ body: document(base) }),
);

/**
 * The actions of all resources but the console, which is a page and no API: its sign-in is for
 * the page, and other clients ask Keystone. A function, because this action is one of them.
 */
export function allActions(): Actions {
  return {
    versions: { 'get-root': getRoot, 'get-v2': getV2, 'get-openapi': getOpenapi },
    'device-profiles': deviceProfiles,
    'accelerator-requests': acceleratorRequests,
    devices,
    deployables,
    attributes,
    operator,
  };
}

/** The document as it is served at `base`. */
export function document(base: string): Record<string, unknown> {
  return { ...openApi(allActions(), base) };
}
