// A fake API Gateway: each request runs in a function process of its own, by the deployed
// handlers. It answers 503 where Lambda has no execution left, and where a function takes longer
// than it waits; the function then goes on.

import type { Deps } from '#core/deps.ts';
import { actions as accelerators } from '#functions/accelerator-requests/handler.ts';
import { actions as deployables } from '#functions/deployables/handler.ts';
import { actions as profiles } from '#functions/device-profiles/handler.ts';
import { actions as devices } from '#functions/devices/handler.ts';
import type { HttpEvent } from '#functions/http/resource-handler.ts';
import { resourceHandler } from '#functions/http/resource-handler.ts';
import type { ApiBody } from '#simulation/api-body.ts';
import type { Faults } from '#simulation/faults.ts';
import type { Random } from '#simulation/random.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';
import type { Violate } from '#simulation/violation.ts';

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

/** How long API Gateway waits for a function, from the request on. */
const gatewayMs = 30_000;
/** The time limit of a function, from its start on. */
const functionMs = 29_000;
/** Lambda starts a function within ten seconds, or counts them to its time limit. */
const coldMsMax = 10_000;

const unavailable: Answer = { status: 503, json: nothing };

interface ApiParts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly faults: Faults;
  readonly depsFor: (process: Process) => Deps;
  readonly spawn: (name: string) => Process;
  /** The services that were out when the process called them. */
  readonly outagesMetBy: (process: Process) => ReadonlySet<string>;
  /** Reports a violation if a request gets a 5xx, unless a service that it needs was out. */
  readonly violate?: Violate | undefined;
}

export function createApi({
  timeline,
  random,
  faults,
  depsFor,
  spawn,
  outagesMetBy,
  violate = () => {},
}: ApiParts): CallApi {
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
      if (faults.happens('function throttled')) return { ended: Promise.resolve(unavailable) };
      const process = spawn(`api ${method}`);
      const coldMs = faults.happens('function cold') ? random.between(300, coldMsMax) : 0;
      const request = { method, path, body, token, coldMs };
      return { ended: serve(timeline, depsFor(process), process, request, checkFault) };
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
  /** How long the function takes to start. */
  readonly coldMs: number;
}

function serve(
  timeline: Timeline,
  deps: Deps,
  process: Process,
  request: Request,
  checkFault: (process: Process, request: Request, status: number, text: string) => void,
): Promise<Answer> {
  const resource = handlerOf(request.path, deps);
  const calledMs = timeline.now();
  return new Promise((resolve) => {
    process.onDeath = () => resolve({ status: 502, json: nothing });
    const start = () => {
      timeline.at(timeline.now() + functionMs, () => timeline.kill(process));
      void resource(eventOf(request), {} as never).then(
        ({ statusCode = 200, body }) => {
          if (process.isDead) return;
          process.isDead = true;
          if (statusCode >= 500) checkFault(process, request, statusCode, body ?? '');
          resolve({ status: statusCode, json: body ? JSON.parse(body) : undefined });
        },
        () => resolve({ status: 500, json: nothing }),
      );
    };
    if (request.coldMs === 0) return start();
    // Only then can a function outlast API Gateway's wait.
    timeline.at(calledMs + gatewayMs, () => resolve(unavailable));
    timeline.at(calledMs + request.coldMs, start);
  });
}

function eventOf({ method, path, body, token }: Request): HttpEvent {
  const url = new URL(`http://api/accelerator/v2${path}`);
  return {
    rawPath: url.pathname,
    headers: {
      host: 'api',
      'x-auth-token': token,
      ...(token === 'demo-token' && {
        'x-service-token': 'nova-token',
        'user-agent': 'nova-compute',
      }),
      'content-type': 'application/json',
    },
    queryStringParameters: Object.fromEntries(url.searchParams),
    requestContext: { http: { method }, domainName: 'api' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    isBase64Encoded: false,
  } as unknown as HttpEvent;
}
