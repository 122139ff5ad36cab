import { action } from '#functions/http/action.ts';
import type { ConsoleDeps } from './deps.ts';
import { serveFile } from './serve-file.ts';

export const getFile = action<unknown, undefined, ConsoleDeps>(
  { answers: { 200: null, 304: null }, refuses: [404] },
  (request) => serveFile(request, request.id),
);
