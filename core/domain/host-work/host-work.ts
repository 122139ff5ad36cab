// Host work: what the control plane asks a host to do, each time by one job of AWS IoT. The table
// below lists the kinds. Code that depends on the kind reads the table or is a record with one
// entry for each kind, so that the compiler names what a new kind lacks:
//
//   documents of jobs          core/contracts/job-document.ts
//   messages on host-jobs      core/contracts/queue-messages.ts
//   ids of jobs                core/contracts/job-ids.ts
//   what a stored row starts   core/domain/outbox/outbox.ts
//   what a message starts      functions/consumers/host-jobs.ts
//   what the job's end does    core/operations/work-ends/finish-job.ts
//   what the sweep does        core/operations/work-ends/expire-work.ts

import type {
  BindId,
  HandleUuid,
  InstanceUuid,
  ProviderUuid,
  ReleaseId,
} from '#core/domain/ids.ts';

export interface HostWork {
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
   * AWS IoT ends an execution that is in progress for so long, whatever the agent says meanwhile.
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

export type JobAction = (typeof hostWork)[HostWorkKind]['jobAction'];

export const hostWorkKinds = Object.keys(hostWork) as HostWorkKind[];

export function kindOfAction(action: JobAction): HostWorkKind {
  return hostWorkKinds.find((kind) => hostWork[kind].jobAction === action) as HostWorkKind;
}

/** The instances that a job is for, and the boot of their host that it is for. */
export interface JobNote {
  readonly instances: readonly string[];
  readonly bootId: string;
  /** The host, if the job reprovisions it: then the row of the note starts the work. */
  readonly bootedHost?: string;
  /** The host was asked by a message. The sweep has the job created if no answer comes. */
  readonly isMessage?: true;
  /** The binds that share the job, in the order of the instances; absent for other jobs. */
  readonly bindIds?: readonly BindId[];
  /** For DynamoDB: a shared job may end untold, or never be created. Seconds since 1970. */
  readonly expiresAt?: number;
}

/** A bind whose job AWS has throttled. The next bind of its devices may share a job with it. */
export interface WaitingBind {
  readonly instanceUuid: InstanceUuid;
  readonly bindId: BindId;
  /** Of its devices. */
  readonly addresses: readonly string[];
  /** ISO 8601, as the time below. */
  readonly startedAt: string;
  /** A shared job has it until then. After that it has a job of its own, and shares no other. */
  readonly sharedUntil?: string;
}

/** An attach handle, as host work names it. */
export interface HandleRef {
  readonly providerUuid: ProviderUuid;
  readonly handleUuid: HandleUuid;
}

/**
 * Host work that attach handles wait for: no bind of a handle is prepared before its host has
 * confirmed the work.
 */
interface HandleWork {
  /** The handles refer to the work by this id. */
  readonly id: ReleaseId;
  readonly hostname: string;
  readonly handles: readonly HandleRef[];
  readonly startedAt: string;
  /** When the first release of the handles began, where this one replaces another; ISO 8601. */
  readonly leftAt?: string;
  readonly requestId?: string;
  /** Why the handles are in quarantine: no confirmation came in time. It may still come. */
  readonly quarantine?: string;
  /** When the host is asked again to clean up, while the handles are in quarantine; ISO 8601. */
  readonly retryAt?: string;
  /** How often the host has been asked again. */
  readonly retries?: number;
}

/**
 * The cleanup that a host still owes after an instance. It outlives the ARQs, which end at once
 * even if their host is down.
 */
export interface HostRelease extends HandleWork {
  readonly kind: 'release';
  readonly bindId?: BindId;
  /** The reprovision job of the instance, where that had not ended. */
  readonly reprovisionJob?: string;
  /** The bind continues: the instance keeps some of its ARQs. */
  readonly isPart?: true;
  /** How long the host may take for the handle that takes longest, if its driver says. */
  readonly cleanSeconds?: number;
}

/** A region that an operator has programmed; its handles cannot be claimed meanwhile. */
export interface HostProgram extends HandleWork {
  readonly kind: 'program';
  readonly imageId: string;
  readonly providerUuid: ProviderUuid;
}

/** What a handle may wait for; its `release` names one of these. */
export type AwaitedWork = HostRelease | HostProgram;

/** When the last holder of its handles left. */
export function leftAtOf({ leftAt, startedAt }: Pick<HandleWork, 'leftAt' | 'startedAt'>): string {
  return leftAt ?? startedAt;
}
