import { consolePage } from '#core/contracts/console-files.ts';
import { action } from '#functions/http/action.ts';
import type { ConsoleDeps } from './deps.ts';
import { serveFile } from './serve-file.ts';

export const getPage = action<unknown, undefined, ConsoleDeps>(
  { answers: { 200: null, 304: null }, refuses: [404] },
  (request) => serveFile(request, consolePage),
);
