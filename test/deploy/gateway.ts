// The API's own address. The emulator's gateway knows an API by its name in the request; this
// machine cannot resolve that name, so this door adds it.

import { createServer, request } from 'node:http';
import { listen, type Running } from '#local/ports.ts';

/** @param endpoint the stack's output; undefined while there is no stack */
export async function openDoor(
  port: number,
  endpoint: () => string | undefined,
  emulator: { readonly port: number },
): Promise<Running> {
  const server = createServer((incoming, response) => {
    const to = endpoint();
    if (to === undefined) {
      response.writeHead(503).end();
      return;
    }
    const { method, url, headers } = incoming;
    const onward = request(
      {
        host: '127.0.0.1',
        port: emulator.port,
        method,
        path: url,
        headers: { ...headers, host: new URL(to).host },
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  await listen(server, { host: '127.0.0.1', port });
  return {
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
