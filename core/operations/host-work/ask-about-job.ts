import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { JobEvent } from '../../contracts/job-document.ts';
import { type JobKind, jobId } from '../../contracts/job-ids.ts';
import { finishJob } from './finish-job.ts';

/** By the status of an execution that has ended. */
const operations: Readonly<Record<string, JobEvent['operation']>> = {
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  REJECTED: 'rejected',
  TIMED_OUT: 'timed_out',
  CANCELED: 'canceled',
  REMOVED: 'removed',
};

/** `absent`: nobody has made it. `open`: it has not ended, or AWS IoT does not say. */
export type JobStanding = 'ended' | 'absent' | 'open';

/**
 * Events of jobs can be lost. If the host's job has ended, what it was for goes on as if its event had
 * come.
 */
export async function askAboutJob(
  deps: ConsumerDeps,
  kind: JobKind,
  uuid: string,
  hostname: string,
): Promise<JobStanding> {
  const id = jobId(deps.settings.stage, kind, uuid);
  const status = await jobStatus(deps, kind, uuid, hostname);
  if (status === undefined) return 'absent';
  const operation = operations[status];
  if (!operation) return 'open';
  const timestamp = Math.floor(deps.clock() / 1000);
  const event = { jobId: id, operation, timestamp, thingArn: '' };
  await finishJob(deps, { eventType: 'JOB_EXECUTION', ...event });
  deps.log.warn('The end of a job was not told, and asked for.', { job: id, operation });
  return 'ended';
}

/** `UNKNOWN` while AWS IoT does not say; undefined where there is no such job. */
export async function jobStatus(
  deps: ConsumerDeps,
  kind: JobKind,
  uuid: string,
  hostname: string,
): Promise<string | undefined> {
  const id = jobId(deps.settings.stage, kind, uuid);
  return deps.clients.jobs.executionStatus(id, hostname).catch((error: unknown) => {
    // A deadline does not wait for AWS IoT.
    deps.log.warn('A job cannot be asked about.', { job: id, error });
    return 'UNKNOWN';
  });
}

export function hasEnded(status: string): boolean {
  return operations[status] !== undefined;
}
