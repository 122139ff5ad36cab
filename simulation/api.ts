// A fake API Gateway: each request runs in a function process of its own, by the deployed
// handlers.

import type { Deps } from '#core/deps.ts';
import { actions as accelerators } from '#functions/accelerator-requests/handler.ts';
import { actions as deployables } from '#functions/deployables/handler.ts';
import { actions as profiles } from '#functions/device-profiles/handler.ts';
import { actions as devices } from '#functions/devices/handler.ts';
import type { HttpEvent } from '#functions/http/resource-handler.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import type { ApiBody } from '#test/support/api-body.ts';
import type { Process, Timeline } from './timeline.ts';
import type { Violate } from './violation.ts';

export interface Answer {
  readonly status: number;
  readonly json: ApiBody;
}

export type CallApi = (
  caller: Process,
  method: string,
  path: string,
  body?: unknown,
  token?: string,
) => Promise<Answer>;

/** The body of an answer without a body; a test that reads a field of it fails. */
const nothing = {} as ApiBody;

/** The timeout of API Gateway. */
const timeoutMs = 29_000;

export function createApi(
  timeline: Timeline,
  depsFor: (process: Process) => Deps,
  spawn: (name: string) => Process,
  /** The services that were out when the process called them. */
  outagesMetBy: (process: Process) => ReadonlySet<string>,
  /** Reports a violation if a request gets a 5xx, unless a service that it needs was out. */
  violate: Violate = () => {},
): CallApi {
  const checkFault = (
    process: Process,
    { method, path }: Request,
    status: number,
    text: string,
  ) => {
    const isRight =
      status === 503 &&
      [...outagesMetBy(process)].some((service) =>
        text.includes(`${service} cannot be asked right now.`),
      );
    if (!isRight) violate('E', `${method} ${path}: ${text}`);
  };

  return async (caller, method, path, body, token = 'demo-token') => {
    const answer = await timeline.effect(caller, `call ${method}`, () => {
      const process = spawn(`api ${method}`);
      return {
        ended: serve(
          timeline,
          depsFor(process),
          process,
          { method, path, body, token },
          checkFault,
        ),
      };
    });
    const answered = await answer.ended;
    // The caller may die before the answer arrives.
    await timeline.effect(caller, `answered ${method}`, () => {});
    return answered;
  };
}

function handlerOf(path: string, deps: Deps) {
  if (path.startsWith('/device_profiles')) {
    return resourceHandler('device-profiles', profiles, () => deps);
  }
  if (path.startsWith('/devices')) return resourceHandler('devices', devices, () => deps);
  if (path.startsWith('/deployables'))
    return resourceHandler('deployables', deployables, () => deps);
  return resourceHandler('accelerator-requests', accelerators, () => deps);
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly token: string;
}

function serve(
  timeline: Timeline,
  deps: Deps,
  process: Process,
  request: Request,
  checkFault: (process: Process, request: Request, status: number, text: string) => void,
): Promise<Answer> {
  const resource = handlerOf(request.path, deps);
  return new Promise((resolve) => {
    process.onDeath = () => resolve({ status: 502, json: nothing });
    timeline.at(timeline.now() + timeoutMs, () => timeline.kill(process));
    void resource(eventOf(request), {} as never).then(
      ({ statusCode = 200, body }) => {
        if (process.isDead) return;
        process.isDead = true;
        if (statusCode >= 500) checkFault(process, request, statusCode, body ?? '');
        resolve({ status: statusCode, json: body ? JSON.parse(body) : undefined });
      },
      () => resolve({ status: 500, json: nothing }),
    );
  });
}

function eventOf({ method, path, body, token }: Request): HttpEvent {
  const url = new URL(`http://api/accelerator/v2${path}`);
  return {
    rawPath: url.pathname,
    headers: {
      host: 'api',
      'x-auth-token': token,
      ...(token === 'demo-token' && { 'x-service-token': 'nova-token' }),
      'content-type': 'application/json',
    },
    queryStringParameters: Object.fromEntries(url.searchParams),
    requestContext: { http: { method }, domainName: 'api' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    isBase64Encoded: false,
  } as unknown as HttpEvent;
}
