// The HTTP server of the fake services: a table of routes, JSON bodies. Each service has its own
// format of errors and its own authentication.

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { type ListenOptions, serve } from '#local/ports.ts';

export interface Ask {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The values of `{name}` in the route's path. */
  readonly params: Readonly<Record<string, string>>;
  /** Parsed JSON, undefined without a body. */
  readonly body: unknown;
  /** The unparsed body. */
  readonly bytes: Buffer;
  readonly requestId: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; text and bytes are sent unchanged. */
  readonly body?: unknown;
}

/** Thrown by a handler: the service refuses the request. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string | undefined;

  constructor(status: number, message: string, code?: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface Service {
  /** Without a trailing slash. */
  readonly url: string;
  stop(): Promise<void>;
}

interface ServiceOptions extends ListenOptions {
  readonly answer: (ask: Ask) => Promise<Answer>;
}

/** @throws PortTaken */
export async function startService({ answer, ...options }: ServiceOptions): Promise<Service> {
  const server = createServer((request, response) => {
    void (async () => {
      const { status, headers, body } = await respond(request, answer);
      const [type, content] = contentOf(body);
      response.writeHead(status, {
        ...(content.length > 0 && { 'Content-Type': type }),
        ...headers,
        ...(status !== 204 && { 'Content-Length': Buffer.byteLength(content) }),
      });
      response.end(request.method === 'HEAD' ? undefined : content);
    })();
  });
  return await serve(server, options);
}

function contentOf(body: unknown): [type: string, content: string | Buffer] {
  if (Buffer.isBuffer(body)) return ['application/octet-stream', body];
  if (typeof body === 'string') return ['text/html', body];
  return ['application/json', JSON.stringify(body) ?? ''];
}

async function respond(
  request: IncomingMessage,
  answer: ServiceOptions['answer'],
): Promise<Answer> {
  const requestId = `req-${randomUUID()}`;
  const url = new URL(request.url ?? '/', 'http://localhost');
  const ask = {
    method: request.method ?? 'GET',
    path: url.pathname.replace(/(.)\/+$/, '$1'),
    query: url.searchParams,
    headers: request.headers,
    params: {},
    requestId,
  };
  let answered: Answer;
  try {
    const bytes = await buffer(request);
    answered = await answer({ ...ask, bytes, body: readJson(bytes) });
  } catch (error) {
    console.error(`${ask.method} ${ask.path}:`, error);
    answered = { status: 500, body: { error: { code: 500, message: String(error) } } };
  }
  const headers = { 'x-openstack-request-id': requestId, ...answered.headers };
  return { ...answered, headers };
}

function readJson(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  const value = parseJson(text);
  return value === undefined && text !== '' ? text : value;
}

/** The value of a header; the last one of a repeated header. */
export function header(ask: Ask, name: string): string | undefined {
  const value = ask.headers[name.toLowerCase()];
  return Array.isArray(value) ? value.at(-1) : value;
}

type Handler<Context> = (ask: Ask, context: Context) => Answer | Promise<Answer>;

/** The handler of `GET /resource_providers/{uuid}`, and so on. */
export type Routes<Context> = Readonly<Record<string, Handler<Context>>>;

export type Found<Context> =
  | { readonly handler: Handler<Context>; readonly params: Record<string, string> }
  /** A route has the path, but not the method. */
  | { readonly allowed: readonly string[] };

/** Undefined if no route has the path. */
export function findRoute<Context>(
  routes: Routes<Context>,
  method: string,
  path: string,
): Found<Context> | undefined {
  const matches = Object.entries(routes).flatMap(([key, handler]) => {
    const [routeMethod = '', template = ''] = key.split(' ');
    const params = matchPath(template, path);
    return params ? [{ routeMethod, handler, params }] : [];
  });
  if (matches.length === 0) return undefined;
  const match = matches.find(({ routeMethod }) => routeMethod === method);
  return match ?? { allowed: matches.map(({ routeMethod }) => routeMethod) };
}

function matchPath(template: string, path: string): Record<string, string> | undefined {
  const templateParts = template.split('/');
  const pathParts = path.split('/');
  if (templateParts.length !== pathParts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of templateParts.entries()) {
    const text = pathParts[index] ?? '';
    if (part.startsWith('{')) params[part.slice(1, -1)] = decoded(text);
    else if (part !== text) return undefined;
  }
  return params;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
