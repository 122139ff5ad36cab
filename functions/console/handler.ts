import { resourceHandler } from '#functions/http/resource-handler.ts';
import { createConsoleDeps } from './deps.ts';
import { getFile } from './get-file.ts';
import { getPage } from './get-page.ts';
import { signInAction } from './sign-in.ts';

export const actions = { 'get-page': getPage, 'get-file': getFile, 'sign-in': signInAction };

export const handler = resourceHandler('console', actions, () => createConsoleDeps());
