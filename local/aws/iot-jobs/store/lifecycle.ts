// The execution of a job on one thing, and its transitions. Pure functions: the time is a
// parameter.
// https://docs.aws.amazon.com/iot/latest/developerguide/iot-jobs-lifecycle.html

import { JobsError } from '#local/aws/iot-jobs/errors.ts';

export const executionStatuses = [
  'QUEUED',
  'IN_PROGRESS',
  'SUCCEEDED',
  'FAILED',
  'REJECTED',
  'TIMED_OUT',
  'REMOVED',
  'CANCELED',
] as const;
export type ExecutionStatus = (typeof executionStatuses)[number];

/** The statuses that a device may set; the service sets the others. */
export const deviceStatuses = ['IN_PROGRESS', 'SUCCEEDED', 'FAILED', 'REJECTED'] as const;

const goesTo: Readonly<Record<ExecutionStatus, readonly ExecutionStatus[]>> = {
  QUEUED: ['IN_PROGRESS', 'SUCCEEDED', 'FAILED', 'REJECTED', 'REMOVED', 'CANCELED'],
  IN_PROGRESS: [
    'IN_PROGRESS',
    'SUCCEEDED',
    'FAILED',
    'REJECTED',
    'TIMED_OUT',
    'REMOVED',
    'CANCELED',
  ],
  SUCCEEDED: [],
  FAILED: [],
  REJECTED: [],
  TIMED_OUT: [],
  REMOVED: [],
  CANCELED: [],
};

export type StatusDetails = Readonly<Record<string, string>>;

export interface Execution {
  readonly jobId: string;
  readonly thing: string;
  readonly thingArn: string;
  /** Always 1: the fake supports neither retries nor groups, so a thing gets a job once. */
  readonly executionNumber: number;
  readonly versionNumber: number;
  readonly status: ExecutionStatus;
  readonly statusDetails: StatusDetails | undefined;
  readonly isForceCanceled: boolean;
  readonly queuedAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly lastUpdatedAtMs: number;
  /** The job's `inProgressTimeoutInMinutes`. */
  readonly timeoutMinutes: number | undefined;
  /** The deadline that the device has set with `stepTimeoutInMinutes`. */
  readonly stepDeadlineMs: number | undefined;
}

export interface Change {
  readonly status: ExecutionStatus;
  /** Replaces the details; without it they stay. */
  readonly statusDetails?: StatusDetails | undefined;
  readonly expectedVersion?: number | undefined;
  /** Restarts the step timer; -1 ends it. */
  readonly stepTimeoutMinutes?: number | undefined;
}

/** A terminal execution changes no more, and is no longer pending. */
export function isTerminal(status: ExecutionStatus): boolean {
  return goesTo[status].length === 0;
}

export function mayTransition(from: ExecutionStatus, to: ExecutionStatus): boolean {
  return goesTo[from].includes(to);
}

/** @throws JobsError VersionMismatch, InvalidStateTransition */
export function changed(execution: Execution, change: Change, nowMs: number): Execution {
  const { expectedVersion, status } = change;
  if (expectedVersion !== undefined && expectedVersion !== execution.versionNumber) {
    const message = `Expected version ${expectedVersion} but found version ${execution.versionNumber}`;
    throw new JobsError('VersionMismatch', message, execution);
  }
  if (!mayTransition(execution.status, status)) {
    const message = `Invalid state transition from ${execution.status} to ${status}`;
    throw new JobsError('InvalidStateTransition', message, execution);
  }
  return {
    ...execution,
    status,
    statusDetails: change.statusDetails ?? execution.statusDetails,
    versionNumber: execution.versionNumber + 1,
    isForceCanceled: status === 'CANCELED' && execution.status === 'IN_PROGRESS',
    startedAtMs: execution.startedAtMs ?? (status === 'IN_PROGRESS' ? nowMs : undefined),
    lastUpdatedAtMs: nowMs,
    stepDeadlineMs: stepDeadline(execution, change, nowMs),
  };
}

function stepDeadline(execution: Execution, change: Change, nowMs: number): number | undefined {
  const minutes = change.stepTimeoutMinutes;
  if (minutes === undefined) return execution.stepDeadlineMs;
  return minutes < 0 ? undefined : nowMs + minutes * 60_000;
}

/** The earlier end of two timers: the job's, which never restarts, and the step's. */
export function deadlineOf(execution: Execution): number | undefined {
  const { status, startedAtMs, timeoutMinutes, stepDeadlineMs } = execution;
  if (status !== 'IN_PROGRESS' || startedAtMs === undefined) return undefined;
  const deadlines = [
    timeoutMinutes === undefined ? Number.POSITIVE_INFINITY : startedAtMs + timeoutMinutes * 60_000,
    stepDeadlineMs ?? Number.POSITIVE_INFINITY,
  ];
  const first = Math.min(...deadlines);
  return Number.isFinite(first) ? first : undefined;
}
