// JSON over fetch, for every client of an OpenStack service. It throws two errors:
// ServiceUnavailable if the service did not answer, RequestRefused if it refused the request.

import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface HttpRequest {
  /** The service's type, as the catalog names it; errors speak of it. */
  readonly service: string;
  readonly method: Method;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Replaces the client's time limit, which includes a second attempt. */
  readonly timeoutMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; text if the body is not JSON; undefined if it is empty. */
  readonly body: unknown;
}

/** Returns answers below 500 except 429. @throws ServiceUnavailable for all others */
export type Http = (request: HttpRequest) => Promise<HttpAnswer>;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The service did not answer, or another server answered for it. It does not mean a refusal. */
export class ServiceUnavailable extends Error {
  override readonly name = 'ServiceUnavailable';
  readonly service: string;
  readonly url: string;
  /** Whether the same call can succeed later without a change of settings. */
  readonly isWorthRetrying: boolean;
  /** When to retry, if known. */
  readonly retryAfterSeconds: number | undefined;
  /** The status of its answer, if it has answered with a 5xx. */
  readonly status: number | undefined;

  constructor(
    service: string,
    url: string,
    reason: string,
    isWorthRetrying: boolean,
    retryAfterSeconds?: number,
    status?: number,
  ) {
    super(`${service} at ${url} is unavailable: ${reason}`);
    this.service = service;
    this.url = url;
    this.isWorthRetrying = isWorthRetrying;
    this.retryAfterSeconds = retryAfterSeconds;
    this.status = status;
  }
}

/** The service refused the request. */
export class RequestRefused extends Error {
  override readonly name: string = 'RequestRefused';
  readonly service: string;
  readonly status: number;
  /** The service's error code, if it has one (Placement has). */
  readonly code: string | undefined;

  constructor(request: HttpRequest, answer: HttpAnswer) {
    const { detail, code } = explanation(answer.body);
    super(
      `${request.service} answered ${answer.status} to ${request.method} ${request.url}: ${detail}`,
    );
    this.service = request.service;
    this.status = answer.status;
    this.code = code;
  }
}

// Lambda behind API Gateway has 30 s for everything; validating a token may take two calls.
const timeoutMsByDefault = 8_000;

interface HttpOptions {
  readonly fetch?: Fetch;
  readonly timeoutMs?: number;
}

export function createHttp(options: HttpOptions = {}): Http {
  const timeoutMs = options.timeoutMs ?? timeoutMsByDefault;
  const send: Fetch = options.fetch ?? ((url, init) => fetch(url, init));
  return async (call) => {
    const request = { ...call, timeoutMs: call.timeoutMs ?? timeoutMs };
    const limit = AbortSignal.timeout(request.timeoutMs);
    let outcome = await attempt(send, request, limit);
    // One retry, only for requests that change nothing; the caller may retry longer.
    if (outcome.isPassing && request.method === 'GET') {
      outcome = await attempt(send, request, limit);
    }
    if ('failure' in outcome) throw outcome.failure;
    return outcome.answer;
  };
}

type Outcome =
  | { readonly answer: HttpAnswer; readonly isPassing: false }
  | { readonly failure: ServiceUnavailable; readonly isPassing: boolean };

type LimitedRequest = HttpRequest & { readonly timeoutMs: number };

async function attempt(send: Fetch, request: LimitedRequest, limit: AbortSignal): Promise<Outcome> {
  try {
    const answer = await exchange(send, request, limit);
    if (answer.status < 500 && answer.status !== 429) return { answer, isPassing: false };
    // Proxies answer these while the service behind them restarts. A 429 is not retried.
    const isPassing = [502, 503, 504].includes(answer.status);
    return { failure: refusedToServe(request, answer), isPassing };
  } catch (error) {
    // A connection kept alive is often found closed. A timeout has spent the caller's time
    // already.
    return { failure: unreachable(request, error), isPassing: isConnectionLost(error) };
  }
}

async function exchange(
  send: Fetch,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const response = await send(request.url, {
    method: request.method,
    headers: {
      Accept: 'application/json',
      'User-Agent': 'cyborg-serverless',
      ...(request.body !== undefined && { 'Content-Type': 'application/json' }),
      ...request.headers,
    },
    ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
    signal,
    // fetch would send our token to the redirect's target.
    redirect: 'manual',
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parseBody(text) };
}

function parseBody(text: string): unknown {
  if (text === '') return undefined;
  const body = parseJson(text);
  return body === undefined ? text : body;
}

/**
 * The parsed body of a successful answer.
 *
 * @throws ServiceUnavailable where something else than the service seems to have answered
 */
export function readBody<T>(schema: z.ZodType<T>, request: HttpRequest, answer: HttpAnswer): T {
  const parsed = schema.safeParse(answer.body);
  if (parsed.success) return parsed.data;
  const reason = `its answer is not understood (${z.prettifyError(parsed.error)})`;
  throw new ServiceUnavailable(request.service, request.url, reason, false);
}

/** @throws RequestRefused where the status is none of the wanted ones */
export function expectStatus(
  request: HttpRequest,
  answer: HttpAnswer,
  ...statuses: number[]
): void {
  if (!statuses.includes(answer.status)) throw new RequestRefused(request, answer);
}

/**
 * Whether the service itself reports that the object does not exist. A wrong URL also gives a
 * 404, and so does a gateway without a route, often as JSON.
 *
 * @param key below which the service spells its errors
 */
export function saysAbsent({ status, body }: HttpAnswer, key: string): boolean {
  return status === 404 && typeof body === 'object' && body !== null && key in body;
}

// The forms of an OpenStack error: Placement's list, Keystone's object, Nova's single key.
const errorList = z.object({
  errors: z.tuple([z.object({ detail: z.string(), code: z.string().optional() })], z.unknown()),
});
const errorObject = z.record(z.string(), z.object({ message: z.string() }));

function explanation(body: unknown): { detail: string; code?: string } {
  const list = errorList.safeParse(body);
  if (list.success) {
    const { detail, code } = list.data.errors[0];
    // Placement's detail starts with the meaning of the status; the cause follows after an empty
    // line.
    const specific = detail.slice(detail.indexOf('\n\n') + 1).trim();
    return { detail: clipped(specific || detail), ...(code && { code }) };
  }
  const object = errorObject.safeParse(body);
  const message = object.success ? Object.values(object.data)[0]?.message : undefined;
  return { detail: clipped(message ?? (typeof body === 'string' ? body : 'no explanation')) };
}

/** One line of limited length: proxies answer with whole pages. */
function clipped(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 300);
}

function refusedToServe(request: HttpRequest, answer: HttpAnswer): ServiceUnavailable {
  const reason = `it answered ${answer.status} (${explanation(answer.body).detail})`;
  const canHeal = answer.status !== 501 && answer.status !== 505;
  const { service, url } = request;
  return new ServiceUnavailable(service, url, reason, canHeal, undefined, answer.status);
}

function unreachable(request: LimitedRequest, error: unknown): ServiceUnavailable {
  const { service, url, timeoutMs } = request;
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new ServiceUnavailable(service, url, `no answer within ${timeoutMs} ms`, true);
  }
  const code = causeCode(error);
  const canHeal = !isLasting(code);
  return new ServiceUnavailable(service, url, code ?? String(error), canHeal);
}

// fetch wraps the error; the reason is the code of its cause.
function causeCode(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return undefined;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

function isConnectionLost(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(causeCode(error) ?? '');
}

/** Certificate errors, and ports that fetch refuses: they last until a setting is changed. */
// https://nodejs.org/api/tls.html#x509-certificate-error-codes
// https://fetch.spec.whatwg.org/#port-blocking
function isLasting(code: string | undefined): boolean {
  return /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|bad port)/.test(code ?? '');
}
