import type { ConsumerDeps } from '../consumer-deps.ts';
import type { JobEvent } from '../contracts/job-document.ts';
import { type JobKind, jobId } from '../contracts/job-ids.ts';
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

/**
 * Events of jobs can be lost. If the host's job has ended, what it was for goes on as if its event had
 * come.
 *
 * @returns whether it has ended
 */
export async function askAboutJob(
  deps: ConsumerDeps,
  kind: JobKind,
  uuid: string,
  hostname: string,
): Promise<boolean> {
  const id = jobId(deps.settings.stage, kind, uuid);
  const status = await deps.clients.jobs
    .executionStatus(id, hostname)
    // A deadline does not wait for AWS IoT.
    .catch((error: unknown) => deps.log.warn('A job cannot be asked about.', { job: id, error }));
  const operation = status && operations[status];
  if (!operation) return false;
  const timestamp = Math.floor(deps.clock() / 1000);
  const event = { jobId: id, operation, timestamp, thingArn: '' };
  await finishJob(deps, { eventType: 'JOB_EXECUTION', ...event });
  deps.log.warn('The end of a job was not told, and asked for.', { job: id, operation });
  return true;
}
