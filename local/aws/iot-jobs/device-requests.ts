// Requests of devices over MQTT. The answer goes to `<request>/accepted` or `<request>/rejected`,
// and only to the device that asked.
// https://docs.aws.amazon.com/iot/latest/developerguide/jobs-mqtt-api.html

import * as z from 'zod';
import { JobsError } from './errors.ts';
import { jobIdPattern, parse, statusDetails, stepTimeoutMinutes } from './input.ts';
import { listedMax } from './notifications.ts';
import type { Jobs } from './store/jobs.ts';
import { deviceStatuses, type Execution, isTerminal } from './store/lifecycle.ts';
import { seconds, viewForDevice, viewPending, viewState } from './views.ts';

export interface Reply {
  readonly topic: string;
  readonly payload: string;
}

interface Context {
  readonly jobs: Jobs;
  readonly thing: string;
  readonly nowMs: number;
}

type Request = (context: Context, input: unknown) => object;

const executionNumber = z.number().int().optional();

const startNextInput = z.object({
  statusDetails: statusDetails.optional(),
  stepTimeoutInMinutes: stepTimeoutMinutes.optional(),
});

const describeInput = z.object({
  executionNumber,
  includeJobDocument: z.boolean().default(true),
});

const updateInput = z.object({
  status: z.enum(deviceStatuses),
  statusDetails: statusDetails.optional(),
  // The API defines a number; the example in its documentation is a string.
  expectedVersion: z.coerce.number().int().optional(),
  executionNumber,
  includeJobExecutionState: z.boolean().default(false),
  includeJobDocument: z.boolean().default(false),
  stepTimeoutInMinutes: stepTimeoutMinutes.optional(),
});

function getPending({ jobs, thing }: Context): object {
  const pending = jobs.pendingOf(thing);
  const listed = (status: string) =>
    pending
      .filter((execution) => execution.status === status)
      .slice(0, listedMax)
      .map(viewPending);
  return { inProgressJobs: listed('IN_PROGRESS'), queuedJobs: listed('QUEUED') };
}

function startNext(context: Context, input: unknown): object {
  const { statusDetails, stepTimeoutInMinutes } = parse(startNextInput, input);
  const change = { statusDetails, stepTimeoutMinutes: stepTimeoutInMinutes };
  const execution = context.jobs.startNext(context.thing, change);
  return execution ? { execution: view(context, execution, true) } : {};
}

function describeNext(context: Context, input: unknown): object {
  const { includeJobDocument } = parse(describeInput, input);
  const [execution] = context.jobs.pendingOf(context.thing);
  return execution ? { execution: view(context, execution, includeJobDocument) } : {};
}

function describe(jobId: string): Request {
  return (context, input) => {
    const { executionNumber, includeJobDocument } = parse(describeInput, input);
    const execution = context.jobs.execution(jobId, context.thing, executionNumber);
    if (isTerminal(execution.status)) {
      throw new JobsError('TerminalStateReached', `The job execution is ${execution.status}`);
    }
    return { execution: view(context, execution, includeJobDocument) };
  };
}

function update(jobId: string): Request {
  return ({ jobs, thing }, input) => {
    const { includeJobExecutionState, includeJobDocument, ...given } = parse(updateInput, input);
    const change = { ...given, stepTimeoutMinutes: given.stepTimeoutInMinutes };
    const execution = jobs.update(jobId, thing, change, given.executionNumber);
    return {
      ...(includeJobExecutionState && { executionState: viewState(execution) }),
      ...(includeJobDocument && { jobDocument: JSON.parse(jobs.job(jobId).document) as unknown }),
    };
  };
}

function view({ jobs, thing, nowMs }: Context, execution: Execution, withDocument: boolean) {
  const document = withDocument ? jobs.job(execution.jobId).document : undefined;
  return { thingName: thing, ...viewForDevice(execution, document, nowMs) };
}

/** The request that a topic names, below `$aws/things/<thing>/jobs/`. */
function requestOf(name: string): Request {
  if (name === 'get') return getPending;
  if (name === 'start-next') return startNext;
  if (name === '$next/get') return describeNext;
  const [, jobId = '', verb] = /^([^/]+)\/(get|update)$/.exec(name) ?? [];
  if (!jobIdPattern.test(jobId)) {
    throw new JobsError('InvalidTopic', 'The topic is not a request of AWS IoT Jobs.');
  }
  return verb === 'get' ? describe(jobId) : update(jobId);
}

/** Answers each request, with an error of the service if it fails unexpectedly. Never throws. */
export function answerDevice(
  jobs: Jobs,
  thing: string,
  topic: string,
  payload: Buffer,
  nowMs: number,
): Reply {
  const name = topic.slice(`$aws/things/${thing}/jobs/`.length);
  const timestamp = seconds(nowMs);
  let clientToken: unknown;
  const reply = (outcome: 'accepted' | 'rejected', body: object): Reply => ({
    topic: `${topic}/${outcome}`,
    payload: JSON.stringify({
      ...(typeof clientToken === 'string' && { clientToken }),
      timestamp,
      ...body,
    }),
  });
  try {
    const input = parseJson(payload);
    clientToken = input.clientToken;
    const request = requestOf(name);
    return reply('accepted', request({ jobs, thing, nowMs }, input));
  } catch (error) {
    const isRefusal = error instanceof JobsError;
    const message = error instanceof Error ? error.message : String(error);
    return reply('rejected', {
      code: isRefusal ? error.code : 'InternalError',
      message,
      ...(isRefusal && error.execution && { executionState: viewState(error.execution) }),
    });
  }
}

function parseJson(payload: Buffer): { readonly clientToken?: unknown } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch {
    throw new JobsError('InvalidJson', 'The payload is not valid JSON in UTF-8.');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new JobsError('InvalidJson', 'The payload is not a JSON object.');
  }
  return parsed;
}
