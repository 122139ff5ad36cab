// The middleware stack around every route of a resource. From the outside in:
//
//   request log    every answer and every log line carries the request's id
//   faults         every error thrown inside becomes an answer in Cyborg's envelope
//   token          before routing, as in keystonemiddleware: without a token no path is revealed
//   routing        404, and 405 with Allow
//   microversion   406; its headers are on every answer from here inwards; the operator's API has
//                  none
//   policy         whether the caller may
//   validation     query and body
//
// Each layer may rely on the layers outside of it.

import middy from '@middy/core';
import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context,
} from 'aws-lambda';
import type { RequestDeps } from '#core/deps.ts';
import { type Caller, userActor } from '#core/domain/caller.ts';
import { type CallFacts, leavesRecord } from '#core/domain/history/calls.ts';
import type { Log, LogFields } from '#core/log.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { ActionName, Resource } from '#functions/routes.ts';
import type { Action } from './action.ts';
import { type CallRecorder, createCallRecorder } from './call-records.ts';
import { faultBody, HttpFault, toFault, tokenFaultBody } from './faults.ts';
import { authenticate, unauthorized, userTokenOf } from './keystone.ts';
import { baseUrl } from './links.ts';
import { enforceOne } from './policy.ts';
import { readBody, validate } from './request/body.ts';
import { apiPath, matchPath, type RouteMatch } from './request/match-path.ts';
import {
  hasMicroversions,
  type Microversion,
  microversionHeaders,
  rangeHeaders,
  requestedMicroversion,
} from './request/microversion.ts';

export type HttpEvent = APIGatewayProxyEventV2;
type HttpResult = APIGatewayProxyStructuredResultV2;
export type HttpHandler = (event: HttpEvent, context: Context) => Promise<HttpResult>;

/** Results of the layers, for the layers inside of them. */
interface Exchange {
  readonly requestId: string;
  readonly log: Log;
  readonly startedAt: number;
  /** Fields that describe the request, for its log line. */
  about: LogFields;
  /** Reason of a refusal. */
  refusal?: string;
  route?: RouteMatch;
  caller?: Caller;
  microversion?: Microversion;
}

type Layer = middy.MiddlewareObj<HttpEvent & { exchange: Exchange }, HttpResult>;

/**
 * The Lambda handler of one resource.
 *
 * @param actions by their name in the table of routes
 * @param makeDeps called once, at the first request: a container that is only warmed does nothing
 */
export function resourceHandler<Of extends Resource>(
  resource: Of,
  actions: Readonly<Record<ActionName<Of>, Action>>,
  makeDeps: () => RequestDeps,
): HttpHandler {
  let made: RequestDeps | undefined;
  const deps = () => {
    made ??= makeDeps();
    return made;
  };
  const middlewareStack = middy<HttpEvent & { exchange: Exchange }, HttpResult>()
    .use(requestLog(deps))
    .use(faults())
    .use(token(resource, deps))
    .use(routing(resource))
    .use(microversion(deps))
    .use(policy(deps, actions))
    .handler(async ({ exchange, ...event }) => run(deps(), actions, event, exchange));
  return middlewareStack as unknown as HttpHandler;
}

function requestLog(deps: () => RequestDeps): Layer {
  let made: CallRecorder | undefined;
  const recorder = () => {
    const { callHistory, clock } = deps();
    if (callHistory) made ??= createCallRecorder(callHistory, clock);
    return made;
  };
  return {
    before: ({ event }) => {
      const requestId = `req-${deps().uuid()}`;
      const fields = {
        request_id: requestId,
        // Nova passes the id of its user's request.
        ...present({ global_request_id: event.headers['x-openstack-request-id'] || undefined }),
      };
      const log = deps().log.child(fields);
      event.exchange = { requestId, log, startedAt: deps().clock(), about: {} };
    },
    after: (request) => answer(deps(), recorder(), request),
    onError: (request) => answer(deps(), recorder(), request),
  };
}

async function answer(
  deps: RequestDeps,
  recorder: CallRecorder | undefined,
  { event, response }: Parameters<NonNullable<Layer['after']>>[0],
): Promise<void> {
  const { exchange } = event;
  if (!response) return;
  if (event.requestContext.http.method === 'HEAD') delete response.body;
  response.headers = {
    'content-type': 'application/json',
    // An answer to one token must not be shown to another.
    ...(exchange.caller && { 'cache-control': 'no-store' }),
    ...response.headers,
    'x-openstack-request-id': exchange.requestId,
  };
  const facts = toCallFacts(event, response.statusCode ?? 200);
  exchange.log.info('Request answered', {
    method: event.requestContext.http.method,
    path: event.rawPath,
    status: response.statusCode,
    ms: deps.clock() - exchange.startedAt,
    project: exchange.caller?.projectId,
    // Nova logs the status alone, so this line is the only place that names the reason.
    ...present({ refusal: exchange.refusal }),
    ...exchange.about,
    // Nova's calls, which are most, have the user in the history.
    ...(facts && leavesRecord(facts) && { user: facts.caller.userId, roles: facts.caller.roles }),
  });
  if (facts) await recorder?.record(facts, exchange.log);
}

/** Undefined for a request without a valid token, or for a path or method that does not exist. */
function toCallFacts(
  { exchange, ...event }: HttpEvent & { readonly exchange: Exchange },
  status: number,
): CallFacts | undefined {
  const { caller, route, refusal, about } = exchange;
  const { resource, policy: rule, method } = route?.row ?? {};
  if (!caller || !resource || !rule || !method) return undefined;
  const query = event.rawQueryString === '' ? '' : `?${event.rawQueryString}`;
  const path = `${event.rawPath}${query}`;
  const details = Object.keys(about).length > 0 ? about : undefined;
  return { caller, resource, rule, method, status, path, ...present({ refusal, given: details }) };
}

function faults(): Layer {
  return {
    onError: (request) => {
      const { exchange } = request.event;
      const fault = toFault(request.error);
      const event = fault ? fault.event : 'Unhandled exception';
      if (event) exchange.log.error(event, { error: request.error });
      const status = fault?.status ?? 500;
      const sentence =
        fault?.sentence ?? 'Unexpected error; the log of the service has it under the request id.';
      exchange.refusal = sentence;
      request.response = {
        statusCode: status,
        headers: {
          ...fault?.headers,
          ...(exchange.microversion
            ? microversionHeaders(exchange.microversion)
            : status === 406 && rangeHeaders),
        },
        body: JSON.stringify(
          status === 401 && !exchange.caller
            ? tokenFaultBody(sentence)
            : faultBody(status, sentence),
        ),
      };
    },
  };
}

function isOpen(path: string): boolean {
  const matches = matchPath(path);
  return matches.length > 0 && matches.every(({ row }) => row.policy === undefined);
}

function token(resource: Resource, deps: () => RequestDeps): Layer {
  return {
    before: async ({ event }) => {
      // All of the console is open, and its function could not ask Keystone about a token.
      if (resource === 'console' || isOpen(apiPath(event.rawPath))) return;
      const { exchange, headers } = event;
      // The function that answers unknown paths has no password to ask Keystone with.
      const isKnown = matchPath(apiPath(event.rawPath)).some(
        ({ row }) => row.resource === resource,
      );
      if (resource === 'versions' && !isKnown && userTokenOf(headers)) return;
      const request = { ...event.requestContext.http, path: event.rawPath, headers };
      exchange.caller = await authenticate(deps(), request, exchange.requestId);
    },
  };
}

function routing(resource: Resource): Layer {
  return {
    before: ({ event }) => {
      const matches = matchPath(apiPath(event.rawPath)).filter(
        ({ row }) => row.resource === resource,
      );
      if (matches.length === 0) throw new HttpFault(404, `There is no ${event.rawPath}.`);
      const { method } = event.requestContext.http;
      const served = method === 'HEAD' ? 'GET' : method;
      const match = matches.find(({ row }) => row.method === served);
      if (!match) {
        const allowed = matches.map(({ row }) => row.method).join(', ');
        throw new HttpFault(405, `${event.rawPath} takes ${allowed}, not ${method}.`, {
          Allow: allowed,
        });
      }
      event.exchange.route = match;
    },
  };
}

function microversion(deps: () => RequestDeps): Layer {
  return {
    before: ({ event }) => {
      if (!hasMicroversions(event.exchange.route?.row)) return;
      const { defaultMicroversion } = deps().settings;
      event.exchange.microversion = requestedMicroversion(event.headers, defaultMicroversion);
    },
  };
}

function policy(deps: () => RequestDeps, actions: Readonly<Record<string, Action>>): Layer {
  return {
    before: ({ event }) => {
      const { route, caller, microversion: version } = event.exchange;
      const rule = route?.row.policy;
      if (!rule || !caller) return;
      try {
        const { rulesBeside = [] } = actions[route.row.action]?.schemas ?? {};
        enforceOne([rule, ...rulesBeside], caller, deps().settings.policy);
      } catch (error) {
        // The device profile specification answers 401 where RBAC refuses; its microversion is
        // 2.0.
        const isBySpecification = route.row.resource === 'device-profiles' && version === '2.0';
        throw isBySpecification ? unauthorized(deps(), (error as Error).message) : error;
      }
    },
  };
}

async function run(
  deps: RequestDeps,
  actions: Readonly<Record<string, Action>>,
  event: HttpEvent,
  exchange: Exchange,
): Promise<HttpResult> {
  const { route, caller, microversion: version = '2.0' } = exchange;
  const action = route && actions[route.row.action];
  if (!action) throw new TypeError(`${event.rawPath} has no action.`);
  const { schemas } = action;
  const reply = await action.run({
    deps: {
      ...deps,
      log: exchange.log,
      requestId: exchange.requestId,
      ...(caller && { actor: userActor(caller) }),
    },
    // Only open routes have no caller, and they do not use it.
    caller: caller as Caller,
    microversion: version,
    id: route.id ?? '',
    headers: event.headers,
    sourceAddress: event.requestContext.http.sourceIp,
    query: validate(schemas.query, event.queryStringParameters ?? {}),
    body: schemas.body && validate(schemas.body, readBody(event, schemas.body, schemas.hasSecret)),
    base: baseUrl(event, deps.settings.publicEndpoint),
    about: (fields) => {
      exchange.about = { ...exchange.about, ...fields };
    },
  });
  return {
    statusCode: reply.status ?? route.row.success,
    headers: { ...(exchange.microversion && microversionHeaders(version)), ...reply.headers },
    ...(reply.body !== undefined && { body: JSON.stringify(reply.body) }),
    ...(reply.bytes && {
      body: Buffer.from(reply.bytes).toString('base64'),
      isBase64Encoded: true,
    }),
  };
}
