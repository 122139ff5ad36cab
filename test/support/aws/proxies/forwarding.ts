// An HTTP server between a caller and a service: the test sees each request and answers it, or has
// the service answer it.

import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type HttpEngine, serve } from '#local/ports.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** AWS names the action in a header; for other services it is the method. */
export function actionOf({ headers, method = '' }: IncomingMessage): string {
  const target = headers['x-amz-target'];
  return typeof target === 'string' ? (target.split('.').at(-1) ?? target) : method;
}

/** @param answer may have the service at a URL answer the body, or another one in its place */
export async function startForwarding(
  answer: (
    incoming: IncomingMessage,
    body: Buffer,
    ask: (url: string, body: Buffer) => Promise<Answer>,
  ) => Promise<Answer>,
): Promise<HttpEngine> {
  const agent = new Agent({ keepAlive: true });
  const ask = (incoming: IncomingMessage) => (url: string, body: Buffer) =>
    new Promise<Answer>((resolve, reject) => {
      const { 'transfer-encoding': _chunked, ...asked } = incoming.headers;
      const length = String(body.length);
      const headers = { ...asked, host: new URL(url).host, 'content-length': length };
      const upstream = request(`${url}${incoming.url}`, {
        method: incoming.method,
        headers,
        agent,
      });
      upstream.on('response', (response) => {
        const { 'transfer-encoding': _, ...kept } = response.headers;
        const status = response.statusCode ?? 502;
        buffer(response).then((bytes) => resolve({ status, headers: kept, body: bytes }), reject);
      });
      upstream.on('error', reject);
      // End the request of a caller that was killed.
      const abandon = () => upstream.destroy();
      incoming.socket.once('close', abandon);
      upstream.once('close', () => incoming.socket.off('close', abandon));
      upstream.end(body);
    });
  const server = createServer((incoming, outgoing) => {
    buffer(incoming)
      .then((body) => answer(incoming, body, ask(incoming)))
      .then(
        ({ status, headers, body }) => outgoing.writeHead(status, headers).end(body),
        () => outgoing.destroy(),
      );
  });
  const engine = await serve(server, { host: '127.0.0.1', port: 0 });
  return {
    ...engine,
    stop: () => {
      agent.destroy();
      return engine.stop();
    },
  };
}
