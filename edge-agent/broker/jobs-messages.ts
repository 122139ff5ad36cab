// Messages of AWS IoT Jobs over MQTT. The parser is tolerant where documentation and behavior
// differ: times in seconds or milliseconds, job documents as objects or as text.
// https://docs.aws.amazon.com/iot/latest/developerguide/jobs-mqtt-api.html

import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

const jobId = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

/** Largest number read as seconds; a larger one is milliseconds. */
const secondsMax = 1e11;
const seconds = z.number().transform((time) => Math.floor(time > secondsMax ? time / 1000 : time));

const jobStatus = z.enum([
  'QUEUED',
  'IN_PROGRESS',
  'SUCCEEDED',
  'FAILED',
  'REJECTED',
  'TIMED_OUT',
  'REMOVED',
  'CANCELED',
]);
export type JobStatus = z.infer<typeof jobStatus>;

const executionState = z.object({ status: jobStatus, versionNumber: z.number().int() });

const jobExecution = z.object({
  jobId,
  status: jobStatus,
  queuedAt: seconds,
  versionNumber: z.number().int(),
  executionNumber: z.number().int().default(1),
  jobDocument: z.unknown().transform(objectOfText),
});
export type JobExecution = z.infer<typeof jobExecution>;

const timed = z.object({ timestamp: seconds });

/** When AWS wrote the answer, in seconds; undefined if it does not say. */
export function parseTime(answer: unknown): number | undefined {
  return timed.safeParse(answer).data?.timestamp;
}

/** The accepted answers that are read; each also has a token and a time. */
export const accepted = {
  describe: z.object({ execution: jobExecution.optional() }),
  update: z.object({ executionState: executionState.optional() }),
};

export const rejected = z
  .object({
    code: z.string(),
    message: z.string().default(''),
    // An unreadable state counts as absent, so the execution is requested again.
    executionState: executionState.optional().catch(undefined),
  })
  .catch({ code: 'InternalError', message: 'unreadable answer' });
export type Rejected = z.infer<typeof rejected>;

const pendingJob = z.object({ jobId });
export type PendingJob = z.infer<typeof pendingJob>;

const jobList = z.array(pendingJob).default([]);
const listed = z.object({ inProgressJobs: jobList, queuedJobs: jobList });
const notified = z.object({ jobs: z.object({ IN_PROGRESS: jobList, QUEUED: jobList }) });

/** From a requested list or from a notification; undefined if the message is neither. */
export function parsePending(message: unknown): PendingJob[] | undefined {
  const answer = listed.safeParse(message);
  const notification = notified.safeParse(message);
  if (notification.success) {
    const { IN_PROGRESS, QUEUED } = notification.data.jobs;
    return [...IN_PROGRESS, ...QUEUED];
  }
  return answer.success ? [...answer.data.inProgressJobs, ...answer.data.queuedJobs] : undefined;
}

export function isJobId(text: string): boolean {
  return jobId.safeParse(text).success;
}

function objectOfText(document: unknown): unknown {
  const value = typeof document === 'string' ? parseJson(document) : undefined;
  return value === undefined ? document : value;
}
