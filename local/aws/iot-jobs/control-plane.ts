// The HTTP endpoint of the fake AWS IoT: jobs, the registry, and messages to hosts. restJson1,
// signatures are not verified.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Log } from '#core/log.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import {
  type Action,
  type ActionContext,
  cancelJob,
  cancelJobExecution,
  createJob,
  deleteJob,
  describeJob,
  describeJobExecution,
  listJobExecutionsForThing,
} from './control-actions.ts';
import { JobsError, type JobsErrorCode } from './errors.ts';
import { performOnRegistry } from './registry/actions.ts';
import type { ThingRegistry } from './registry/registry.ts';

const routes: readonly (readonly [method: string, path: RegExp, action: Action])[] = [
  ['PUT', /^\/jobs\/(?<jobId>[^/]+)$/, createJob],
  ['GET', /^\/jobs\/(?<jobId>[^/]+)$/, describeJob],
  ['DELETE', /^\/jobs\/(?<jobId>[^/]+)$/, deleteJob],
  ['PUT', /^\/jobs\/(?<jobId>[^/]+)\/cancel$/, cancelJob],
  ['GET', /^\/things\/(?<thing>[^/]+)\/jobs$/, listJobExecutionsForThing],
  ['GET', /^\/things\/(?<thing>[^/]+)\/jobs\/(?<jobId>[^/]+)$/, describeJobExecution],
  ['PUT', /^\/things\/(?<thing>[^/]+)\/jobs\/(?<jobId>[^/]+)\/cancel$/, cancelJobExecution],
];

const exceptions: Readonly<Record<JobsErrorCode, readonly [name: string, status: number]>> = {
  InvalidTopic: ['InvalidRequestException', 400],
  InvalidJson: ['InvalidRequestException', 400],
  InvalidRequest: ['InvalidRequestException', 400],
  InvalidStateTransition: ['InvalidStateTransitionException', 409],
  ResourceNotFound: ['ResourceNotFoundException', 404],
  VersionMismatch: ['VersionConflictException', 409],
  TerminalStateReached: ['InvalidStateTransitionException', 409],
  ResourceAlreadyExists: ['ResourceAlreadyExistsException', 409],
  Throttling: ['ThrottlingException', 400],
  CertificateState: ['CertificateStateException', 406],
  DeleteConflict: ['DeleteConflictException', 409],
};

interface ControlPlaneOptions extends Pick<ActionContext, 'jobs' | 'countByStatus' | 'throttle'> {
  readonly now: () => number;
  readonly registry?: ThingRegistry | undefined;
  /** Sends a message of the data endpoint to its subscribers. */
  readonly publish: (topic: string, payload: string) => void;
  /** Called after each request, because the request may have changed something. */
  readonly onDone: () => void;
  readonly log: Log;
}

/** Creates the server; the caller lets it listen. */
export function createControlPlane(options: ControlPlaneOptions): Server {
  return createServer((request, response) => {
    perform(options, request)
      .then(
        (body) => answer(response, 200, body),
        (error: unknown) => refuse(response, error, options.log),
      )
      .finally(options.onDone);
  });
}

async function perform(options: ControlPlaneOptions, incoming: IncomingMessage): Promise<object> {
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://localhost');
  const text = (await buffer(incoming)).toString();
  const topic = incoming.method === 'POST' && /^\/topics\/(.+)$/.exec(pathname)?.[1];
  if (topic) {
    options.publish(decodeURIComponent(topic), text);
    return { message: 'OK', traceId: crypto.randomUUID() };
  }
  const body = text === '' ? {} : parseJson(text);
  if (body === undefined) throw new JobsError('InvalidRequest', 'The body is not valid JSON.');
  for (const [method, path, action] of routes) {
    const match = method === incoming.method ? path.exec(pathname) : null;
    if (match === null) continue;
    const { jobId = '', thing = '' } = match.groups ?? {};
    return action({
      ...options,
      nowMs: options.now(),
      jobId: decodeURIComponent(jobId),
      thing: decodeURIComponent(thing),
      query: searchParams,
      body,
    });
  }
  const { method = '', headers } = incoming;
  const request = { method, pathname, query: searchParams, headers, body };
  const answer = options.registry && performOnRegistry(options.registry, request);
  if (answer !== undefined) return answer;
  throw new JobsError(
    'InvalidRequest',
    `${incoming.method} ${pathname} is not supported by the fake.`,
  );
}

function refuse(response: ServerResponse, error: unknown, log: Log): void {
  if (error instanceof JobsError) {
    const [name, status] = exceptions[error.code];
    response.setHeader('x-amzn-errortype', name);
    answer(response, status, { message: error.message });
  } else {
    log.error('AWS IoT Jobs request failed', { error });
    response.setHeader('x-amzn-errortype', 'InternalFailureException');
    answer(response, 500, { message: error instanceof Error ? error.message : String(error) });
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    'x-amzn-requestid': crypto.randomUUID(),
  });
  response.end(bytes);
}
