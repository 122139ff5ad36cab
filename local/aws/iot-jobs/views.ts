// Jobs and executions as AWS shows them: to devices with whole seconds and the document as an
// object, to the control plane with fractions of seconds and the document as text.

import { deadlineOf, type Execution, type ExecutionStatus } from './store/lifecycle.ts';
import type { Job } from './store/storage.ts';

export function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** An execution in `get` and `notify`. */
export function viewPending(execution: Execution) {
  const { jobId, executionNumber, versionNumber } = execution;
  return { jobId, ...wholeTimes(execution), executionNumber, versionNumber };
}

/**
 * An execution in `start-next`, `<job>/get` and `notify-next`; only the last one lacks the thing.
 */
export function viewForDevice(execution: Execution, document: string | undefined, nowMs: number) {
  return {
    jobId: execution.jobId,
    status: execution.status,
    ...(execution.statusDetails && { statusDetails: execution.statusDetails }),
    ...wholeTimes(execution),
    versionNumber: execution.versionNumber,
    executionNumber: execution.executionNumber,
    ...secondsLeft(execution, nowMs),
    ...(document !== undefined && { jobDocument: JSON.parse(document) as unknown }),
  };
}

function wholeTimes({ queuedAtMs, startedAtMs, lastUpdatedAtMs }: Execution) {
  return {
    queuedAt: seconds(queuedAtMs),
    ...(startedAtMs !== undefined && { startedAt: seconds(startedAtMs) }),
    lastUpdatedAt: seconds(lastUpdatedAtMs),
  };
}

/** The execution beside an error, or beside an accepted update. */
export function viewState({ status, statusDetails, versionNumber }: Execution) {
  return { status, ...(statusDetails && { statusDetails }), versionNumber };
}

export function viewExecution(execution: Execution, nowMs: number) {
  const { jobId, status, statusDetails, thingArn } = execution;
  return {
    jobId,
    status,
    forceCanceled: execution.isForceCanceled,
    ...(statusDetails && { statusDetails: { detailsMap: statusDetails } }),
    thingArn,
    ...times(execution),
    executionNumber: execution.executionNumber,
    versionNumber: execution.versionNumber,
    ...secondsLeft(execution, nowMs),
  };
}

/** An execution in the list of one thing's executions. */
export function viewSummary(execution: Execution) {
  const { jobId, status, executionNumber } = execution;
  return {
    jobId,
    jobExecutionSummary: { status, ...times(execution), executionNumber, retryAttempt: 0 },
  };
}

export function viewJob(job: Job, counts: ReadonlyMap<ExecutionStatus, number>) {
  const count = (status: ExecutionStatus) => counts.get(status) ?? 0;
  return {
    jobArn: jobArn(job),
    jobId: job.id,
    targetSelection: job.targetSelection,
    status: job.status,
    forceCanceled: job.isForceCanceled ?? false,
    reasonCode: job.reasonCode,
    comment: job.comment,
    targets: job.targets,
    description: job.description,
    presignedUrlConfig: job.presignedUrlConfig ?? {},
    timeoutConfig: job.timeoutConfig,
    createdAt: job.createdAtMs / 1000,
    lastUpdatedAt: job.lastUpdatedAtMs / 1000,
    completedAt: job.completedAtMs === undefined ? undefined : job.completedAtMs / 1000,
    jobProcessDetails: {
      numberOfCanceledThings: count('CANCELED'),
      numberOfSucceededThings: count('SUCCEEDED'),
      numberOfFailedThings: count('FAILED'),
      numberOfRejectedThings: count('REJECTED'),
      numberOfQueuedThings: count('QUEUED'),
      numberOfInProgressThings: count('IN_PROGRESS'),
      numberOfRemovedThings: count('REMOVED'),
      numberOfTimedOutThings: count('TIMED_OUT'),
    },
  };
}

/** The ARN has the account and region of the job's first target. */
export function jobArn({ id, targets }: Pick<Job, 'id' | 'targets'>): string {
  return `${targets[0]?.replace(/:thing\/.*/, '')}:job/${id}`;
}

function times({ queuedAtMs, startedAtMs, lastUpdatedAtMs }: Execution) {
  return {
    queuedAt: queuedAtMs / 1000,
    ...(startedAtMs !== undefined && { startedAt: startedAtMs / 1000 }),
    lastUpdatedAt: lastUpdatedAtMs / 1000,
  };
}

function secondsLeft(execution: Execution, nowMs: number) {
  const deadline = deadlineOf(execution);
  if (deadline === undefined) return {};
  return { approximateSecondsBeforeTimedOut: Math.max(0, seconds(deadline - nowMs)) };
}
