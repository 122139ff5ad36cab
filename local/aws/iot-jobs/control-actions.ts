// The HTTP actions of AWS IoT Jobs, such as CreateJob. An unsupported parameter is refused by
// name, never ignored. Two differences from AWS are deliberate: a target need not be a registered
// thing, and requests are not authenticated.
// https://docs.aws.amazon.com/iot/latest/apireference/API_CreateJob.html

import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { JobsError } from './errors.ts';
import {
  jobIdPattern,
  parse,
  plainText,
  statusDetails,
  thingPattern,
  timeoutMinutesMax,
} from './input.ts';
import type { Jobs } from './store/jobs.ts';
import { type ExecutionStatus, executionStatuses } from './store/lifecycle.ts';
import { jobArn, viewExecution, viewJob, viewSummary } from './views.ts';

export interface ActionContext {
  readonly jobs: Jobs;
  readonly countByStatus: (jobId: string) => ReadonlyMap<ExecutionStatus, number>;
  readonly nowMs: number;
  /** @throws JobsError Throttling */
  readonly throttle: () => void;
  /** The job id in the path. */
  readonly jobId: string;
  readonly thing: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export type Action = (context: ActionContext) => object;

const documentBytesMax = 32 * 1024;
const pageMax = 250;

const text = (max: number) => z.string().max(max).regex(plainText, 'has a control character');

const newJob = z.strictObject({
  targets: z
    .array(z.string().regex(/^arn:aws[a-z-]*:iot:[a-z0-9-]+:\d{12}:thing\/[a-zA-Z0-9:_-]{1,128}$/))
    .min(1)
    .max(100),
  document: z.string().refine(isJson, 'not valid JSON, or larger than 32 KB'),
  description: text(2028).optional(),
  targetSelection: z.enum(['SNAPSHOT']).default('SNAPSHOT'),
  presignedUrlConfig: z
    .strictObject({
      roleArn: z.string().min(20).max(2048).optional(),
      expiresInSec: z.number().int().min(60).max(3600).optional(),
    })
    .optional(),
  timeoutConfig: z
    .strictObject({
      inProgressTimeoutInMinutes: z.number().int().min(1).max(timeoutMinutesMax).optional(),
    })
    .optional(),
});

const cancellation = z.strictObject({
  comment: text(2028).optional(),
  reasonCode: z
    .string()
    .max(128)
    .regex(/^[\p{Lu}\d_]+$/u)
    .optional(),
});

const executionCancellation = z.strictObject({
  expectedVersion: z.number().int().optional(),
  statusDetails: statusDetails.optional(),
});

export const createJob: Action = ({ jobs, jobId, body, throttle }) => {
  throttle();
  return viewNamed(jobs.create({ id: validJobId(jobId), ...parse(newJob, body) }));
};

export const describeJob: Action = ({ jobs, jobId, countByStatus }) => ({
  job: viewJob(jobs.job(jobId), countByStatus(jobId)),
});

export const cancelJob: Action = ({ jobs, jobId, query, body }) =>
  viewNamed(jobs.cancel(jobId, { ...parse(cancellation, body), force: isForced(query) }));

export const deleteJob: Action = ({ jobs, jobId, query }) => {
  jobs.delete(jobId, { force: isForced(query) });
  return {};
};

export const describeJobExecution: Action = ({ jobs, jobId, thing, query, nowMs }) => {
  const number = query.get('executionNumber');
  const executionNumber = number === null ? undefined : Number(number);
  return { execution: viewExecution(jobs.execution(jobId, thing, executionNumber), nowMs) };
};

export const cancelJobExecution: Action = ({ jobs, jobId, thing, query, body }) => {
  const cancellation = parse(executionCancellation, body);
  jobs.cancelExecution(jobId, thing, { ...cancellation, force: isForced(query) });
  return {};
};

export const listJobExecutionsForThing: Action = ({ jobs, thing, query }) => {
  if (!thingPattern.test(thing)) throw new JobsError('InvalidRequest', 'thingName is invalid.');
  const { status, jobId, maxResults, nextToken } = parse(listing, Object.fromEntries(query));
  const all = jobs
    .executionsOf(thing)
    .filter((execution) => status === undefined || execution.status === status)
    .filter((execution) => jobId === undefined || execution.jobId === jobId);
  const end = nextToken + maxResults;
  return {
    executionSummaries: all.slice(nextToken, end).map(viewSummary),
    ...(end < all.length && { nextToken: String(end) }),
  };
};

const listing = z.strictObject({
  status: z.enum(executionStatuses).optional(),
  jobId: z.string().regex(jobIdPattern).optional(),
  maxResults: z.coerce.number().int().min(1).max(pageMax).default(pageMax),
  /** How many jobs earlier pages listed. */
  nextToken: z.coerce.number().int().min(0).default(0),
});

function viewNamed(job: ReturnType<Jobs['job']>): object {
  return { jobArn: jobArn(job), jobId: job.id, description: job.description };
}

function isForced(query: URLSearchParams): boolean {
  return query.get('force') === 'true';
}

function isJson(document: string): boolean {
  return Buffer.byteLength(document) <= documentBytesMax && parseJson(document) !== undefined;
}

function validJobId(jobId: string): string {
  if (jobIdPattern.test(jobId)) return jobId;
  throw new JobsError('InvalidRequest', `invalid job id: ${jobId}`);
}
