// A fake API Gateway with an HTTP API: node:http outside, payload format 2.0 inside.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Log, silentLog } from '#core/log.ts';
import { type HttpEngine, httpUrl, type ListenOptions, listen } from '#local/ports.ts';
import { httpEvent, writeResult } from './http-event.ts';
import { invoke, type LambdaHandler } from './lambda.ts';

/** The limit of API Gateway. The limit of the API is lower, and the handlers check it. */
const bodyBytesMax = 10 * 1024 * 1024;
/** A refused client that sends nothing for this long is disconnected. */
const unreadMsMax = 5000;

interface HttpServerOptions extends ListenOptions {
  /** Returns the function for a path; without one the answer is API Gateway's own 404. */
  readonly resolve: (path: string) => LambdaHandler | undefined;
  /** The time after which API Gateway answers 503 for the function. */
  readonly timeoutSeconds?: number;
  readonly log?: Log;
}

/** @throws PortTaken */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpEngine> {
  const { host, resolve, timeoutSeconds = 30, log = silentLog } = options;
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      log.error('Function failed', { error, path: request.url });
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

  server.on('clientError', (error, socket) => refuse(error, socket as Socket));
  // Longer than a client keeps an idle connection, so that a reused connection is open.
  server.keepAliveTimeout = 65_000;
  const port = await listen(server, options);
  return {
    url: httpUrl(host, port),
    port,
    stop: () =>
      new Promise((stopped) => {
        // Requests in progress are answered; idle connections end at once.
        server.close(() => stopped());
      }),
  };
}

/**
 * Undefined for a body that is too large. It is read to its end, because most clients read the
 * answer only after they have sent the whole body.
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

/**
 * Answers a request that is not HTTP, or whose address and headers are too long. The rest of the
 * request is read: most clients read the answer after they have sent everything, and closing at
 * once would reset the connection.
 */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (socket.writableEnded) return;
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const isTooLong = error.code === 'HPE_HEADER_OVERFLOW';
  const status = isTooLong ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const body = JSON.stringify({ message: status.slice(4) });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  socket.setTimeout(unreadMsMax, () => socket.destroy());
}

/** Sends an error of API Gateway itself. */
function fail(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ message }));
}
