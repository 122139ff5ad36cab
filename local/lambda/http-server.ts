// API Gateway's HTTP API on this machine: node:http on one side, payload format 2.0 on the other.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Log, silentLog } from '#core/log.ts';
import { type ListenOptions, listen, type Running } from '../process/ports.ts';
import { httpEvent, writeResult } from './http-event.ts';
import { invoke, type LambdaHandler } from './lambda.ts';

/** API Gateway's own. What the API itself allows is less, and checked behind it. */
const bodyBytesMax = 10 * 1024 * 1024;

export interface HttpServerOptions extends ListenOptions {
  /** The function that answers a path; without one API Gateway's own 404 is given. */
  readonly resolve: (path: string) => LambdaHandler | undefined;
  /** API Gateway gives up on a function after this. */
  readonly timeoutSeconds?: number;
  readonly log?: Log;
}

export interface LocalHttpServer extends Running {
  readonly url: string;
  readonly port: number;
}

/** @throws PortTaken */
export async function startHttpServer(options: HttpServerOptions): Promise<LocalHttpServer> {
  const { host, resolve, timeoutSeconds = 30, log = silentLog } = options;
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      log.error('The function failed.', { error, path: request.url });
      fail(response, 500, 'Internal Server Error');
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (body === undefined) return fail(response, 413, 'Request Entity Too Large');
    const event = httpEvent(request, body);
    const handler = resolve(event.rawPath);
    if (handler === undefined) return fail(response, 404, 'Not Found');
    const result = await invoke({ name: 'api', handler, timeoutSeconds }, event);
    writeResult(response, result, event.requestContext.requestId);
  }

  // Longer than a client keeps an idle connection, so that none is closed under its next request.
  server.keepAliveTimeout = 65_000;
  const port = await listen(server, options);
  return {
    url: `http://${host}:${port}`,
    port,
    stop: () =>
      new Promise((stopped) => {
        // Requests under way are answered; idle connections end now.
        server.close(() => stopped());
      }),
  };
}

/**
 * Undefined when it is too large. It is read to its end all the same: most clients listen for an
 * answer only when they have sent all.
 */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bodyBytesMax) chunks.push(chunk);
  }
  return bytes <= bodyBytesMax ? Buffer.concat(chunks) : undefined;
}

/** An answer of API Gateway itself. */
function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ message }));
}
