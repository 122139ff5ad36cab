import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobEvent } from '#core/contracts/jobs/job-document.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import type { JobFinishedKind } from '#core/domain/host-work/host-work.ts';
import { finishJob } from './finish-job.ts';

/** Status of an ended execution → operation of its event. */
const operations: Readonly<Record<string, JobEvent['operation']>> = {
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  REJECTED: 'rejected',
  TIMED_OUT: 'timed_out',
  CANCELED: 'canceled',
  REMOVED: 'removed',
};

/** `absent`: the job was never created. `open`: it has not ended, or AWS IoT does not say. */
type JobStanding = 'ended' | 'absent' | 'open';

/**
 * Asks AWS IoT about a job, because the event of its end can be lost. If the job has ended, its
 * work is finished as if the event had come.
 */
export async function askAboutJob(
  deps: ConsumerDeps,
  kind: JobFinishedKind,
  uuid: string,
  hostname: string,
): Promise<JobStanding> {
  const id = jobId(deps.settings.stage, kind, uuid);
  const status = await jobStatus(deps, kind, uuid, hostname);
  if (status === undefined) return 'absent';
  const operation = operations[status];
  if (!operation) return 'open';
  await finishJob(deps, { jobId: id, operation });
  deps.log.warn('Job ended without an event', { job: id, operation });
  return 'ended';
}

/** `UNKNOWN` while AWS IoT does not say; undefined where there is no such job. */
export async function jobStatus(
  deps: ConsumerDeps,
  kind: JobFinishedKind,
  uuid: string,
  hostname: string,
): Promise<string | undefined> {
  const id = jobId(deps.settings.stage, kind, uuid);
  return deps.clients.jobs.executionStatus(id, hostname).catch((error: unknown) => {
    // A deadline does not wait for AWS IoT.
    deps.log.warn('Job status not read', { job: id, error });
    return 'UNKNOWN';
  });
}

export function hasEnded(status: string): boolean {
  return operations[status] !== undefined;
}
