// Host work: what the control plane asks a host to do, each time by one job of AWS IoT. The table
// below lists the kinds. Code that depends on the kind reads the table or is a record with one
// entry for each kind, so that the compiler names what a new kind lacks:
//
//   documents of jobs          core/contracts/jobs/job-document.ts
//   messages on host-jobs      core/contracts/queues/queue-messages.ts
//   ids of jobs                core/contracts/jobs/job-ids.ts
//   what a stored row starts   core/domain/outbox/outbox.ts
//   what a message starts      functions/consumers/host-jobs.ts
//   what the job's end does    core/operations/work-ends/finish-job.ts
//   what the sweep does        core/operations/work-ends/expire-work.ts

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { awaitedWork, handleRef, jobNote, waitingBind } from '#core/shapes/host-work.ts';

interface HostWork {
  /** `action` in the document of its jobs. */
  readonly jobAction: string;
  /** A job's id is `<stage>-<idPrefix>-<uuid>`. */
  readonly idPrefix: string;
  /**
   * The stored row that starts it, by a message on host-jobs; or the operation that creates its
   * job.
   */
  readonly startedBy: 'instance' | 'job' | 'release' | 'program' | 'apply-report';
  /** What finishes it: the end of its job, or the report that the host sends because of it. */
  readonly finishedBy: 'job-end' | 'report';
  /** How long after its start the sweep looks at it. */
  readonly deadlineSeconds: number | 'bindDeadlineSeconds' | 'none';
  /**
   * AWS IoT ends an execution that is in progress for longer, whatever the agent reports
   * meanwhile.
   */
  readonly inProgressMinutes: number;
  /** What the sweep does with work that is overdue and whose job has not ended. */
  readonly onExpiry: 'fail-bind' | 'ask-again' | 'quarantine-handles' | 'nothing';
}

export const hostWork = {
  /** Make ready what an instance is bound to. */
  bind: {
    jobAction: 'prepare',
    idPrefix: 'bind',
    startedBy: 'instance',
    finishedBy: 'job-end',
    deadlineSeconds: 'bindDeadlineSeconds',
    inProgressMinutes: 10,
    onExpiry: 'fail-bind',
  },
  /** Clean up behind an instance. */
  release: {
    jobAction: 'release',
    idPrefix: 'release',
    startedBy: 'release',
    finishedBy: 'job-end',
    deadlineSeconds: 300,
    inProgressMinutes: 10,
    onExpiry: 'quarantine-handles',
  },
  /** Make ready again, after a boot of the host, what instances are bound to. */
  reprovision: {
    jobAction: 'reprovision',
    idPrefix: 'reprovision',
    startedBy: 'job',
    finishedBy: 'job-end',
    deadlineSeconds: 300,
    inProgressMinutes: 10,
    onExpiry: 'ask-again',
  },
  /** Program a region for an operator. The agent may fetch the image for a quarter of an hour. */
  program: {
    jobAction: 'program',
    idPrefix: 'program',
    startedBy: 'program',
    finishedBy: 'job-end',
    deadlineSeconds: 1200,
    inProgressMinutes: 20,
    onExpiry: 'quarantine-handles',
  },
  /** Report all devices again. If the job is lost, the next heartbeat creates another. */
  rediscover: {
    jobAction: 'rediscover',
    idPrefix: 'rediscover',
    startedBy: 'apply-report',
    finishedBy: 'report',
    deadlineSeconds: 'none',
    inProgressMinutes: 10,
    onExpiry: 'nothing',
  },
} as const satisfies Readonly<Record<string, HostWork>>;

export type HostWorkKind = keyof typeof hostWork;

/** The kinds whose rows in the table have that value. */
type KindsWith<Column extends keyof HostWork, Value> = {
  [Kind in HostWorkKind]: (typeof hostWork)[Kind][Column] extends Value ? Kind : never;
}[HostWorkKind];

/** Kinds that a message on host-jobs starts. */
export type QueuedWorkKind = KindsWith<'startedBy', 'instance' | 'job' | 'release' | 'program'>;
/** Kinds that the end of their job finishes. */
export type JobFinishedKind = KindsWith<'finishedBy', 'job-end'>;
/** Kinds that the sweep looks at when they are overdue. */
export type ExpiringWorkKind = Exclude<HostWorkKind, KindsWith<'onExpiry', 'nothing'>>;

type JobAction = (typeof hostWork)[HostWorkKind]['jobAction'];

export const hostWorkKinds = Object.keys(hostWork) as HostWorkKind[];

export function kindOfAction(action: JobAction): HostWorkKind {
  return hostWorkKinds.find((kind) => hostWork[kind].jobAction === action) as HostWorkKind;
}

export type JobNote = Shaped<typeof jobNote>;
export type WaitingBind = Shaped<typeof waitingBind>;
export type HandleRef = Shaped<typeof handleRef>;

export interface HostRelease extends Shaped<typeof awaitedWork.release> {
  readonly kind: 'release';
}

export interface HostProgram extends Shaped<typeof awaitedWork.program> {
  readonly kind: 'program';
}

/** What a handle may wait for; its `release` names one of these. */
export type AwaitedWork = HostRelease | HostProgram;

/** When the last holder of its handles left. */
export function leftAtOf({ leftAt, startedAt }: Pick<AwaitedWork, 'leftAt' | 'startedAt'>): string {
  return leftAt ?? startedAt;
}
