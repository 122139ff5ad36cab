import { consolePage } from '#core/contracts/console-files.ts';
import { action } from '#functions/http/action.ts';
import { noQuery } from '#functions/http/query.ts';
import type { ConsoleDeps } from './deps.ts';
import { serveFile } from './serve-file.ts';

export const getPage = action<unknown, undefined, ConsoleDeps>(
  { query: noQuery, answers: { 200: null, 304: null }, refuses: [404] },
  (request) => serveFile(request, consolePage),
);
