// The operations on jobs. Each change is one transaction: of the execution, of its job if the
// execution is the last one, and of the event that reports its end.

import { randomUUID } from 'node:crypto';
import { JobsError } from '#local/aws/iot-jobs/errors.ts';
import {
  type Change,
  changed,
  type Execution,
  isTerminal,
  type StatusDetails,
} from './lifecycle.ts';
import type { Job, JobStorage } from './storage.ts';

type NewJob = Pick<
  Job,
  | 'id'
  | 'document'
  | 'targets'
  | 'targetSelection'
  | 'description'
  | 'presignedUrlConfig'
  | 'timeoutConfig'
>;

interface CancelOptions {
  /** Whether to end executions in progress as well. */
  readonly force: boolean;
  readonly comment?: string | undefined;
  readonly reasonCode?: string | undefined;
}

export class Jobs {
  readonly #storage: JobStorage;
  readonly #now: () => number;

  constructor(storage: JobStorage, now: () => number) {
    this.#storage = storage;
    this.#now = now;
  }

  /** @throws JobsError ResourceAlreadyExists, even if the existing job is equal */
  create(request: NewJob): Job {
    return this.#storage.transaction(() => {
      const now = this.#now();
      if (this.#storage.findJob(request.id) !== undefined) {
        throw new JobsError('ResourceAlreadyExists', `Job ${request.id} already exists`);
      }
      const job: Job = {
        ...request,
        status: 'IN_PROGRESS',
        createdAtMs: now,
        lastUpdatedAtMs: now,
      };
      this.#storage.saveJob(job);
      for (const thingArn of new Set(request.targets)) {
        this.#storage.saveExecution({
          jobId: request.id,
          thing: thingOfArn(thingArn),
          thingArn,
          executionNumber: 1,
          versionNumber: 1,
          status: 'QUEUED',
          statusDetails: undefined,
          isForceCanceled: false,
          queuedAtMs: now,
          startedAtMs: undefined,
          lastUpdatedAtMs: now,
          timeoutMinutes: request.timeoutConfig?.inProgressTimeoutInMinutes,
          stepDeadlineMs: undefined,
        });
      }
      return job;
    });
  }

  /** @throws JobsError ResourceNotFound */
  job(id: string): Job {
    const job = this.#storage.findJob(id);
    if (job === undefined) throw new JobsError('ResourceNotFound', `Job ${id} cannot be found.`);
    return job;
  }

  /**
   * A job may be canceled twice, for instance with `force` the second time.
   * @throws JobsError ResourceNotFound; InvalidRequest for a completed job
   */
  cancel(id: string, { force, comment, reasonCode }: CancelOptions): Job {
    return this.#storage.transaction(() => {
      const job = this.job(id);
      if (job.status === 'COMPLETED') {
        throw new JobsError('InvalidRequest', `Job ${id} is completed and cannot be canceled.`);
      }
      const canceled: Job = {
        ...job,
        status: 'CANCELED',
        comment,
        reasonCode,
        lastUpdatedAtMs: this.#now(),
        ...(force && { isForceCanceled: true }),
      };
      this.#storage.saveJob(canceled);
      for (const execution of this.#storage.executionsOfJob(id)) {
        const { status } = execution;
        if (status === 'QUEUED' || (status === 'IN_PROGRESS' && force)) {
          this.#change(execution, { status: 'CANCELED' });
        }
      }
      return canceled;
    });
  }

  /**
   * @throws JobsError ResourceNotFound; InvalidStateTransition for a job in progress without
   * `force`
   */
  delete(id: string, { force }: { readonly force: boolean }): void {
    this.#storage.transaction(() => {
      const job = this.job(id);
      const executions = this.#storage.executionsOfJob(id);
      const isGoingOn =
        job.status === 'IN_PROGRESS' || executions.some(({ status }) => status === 'IN_PROGRESS');
      if (isGoingOn && !force) {
        throw new JobsError('InvalidStateTransition', `Job ${id} is in progress; use force.`);
      }
      for (const execution of executions) this.#tell(execution, 'DELETED');
      this.#storage.deleteJob(id);
    });
  }

  /** @throws JobsError ResourceNotFound */
  execution(jobId: string, thing: string, executionNumber?: number): Execution {
    const execution = this.#storage.findExecution(jobId, thing);
    if (
      execution === undefined ||
      (executionNumber !== undefined && executionNumber !== execution.executionNumber)
    ) {
      throw new JobsError('ResourceNotFound', `No execution of job ${jobId} for thing ${thing}`);
    }
    return execution;
  }

  /** @throws JobsError ResourceNotFound, VersionMismatch, InvalidStateTransition */
  cancelExecution(
    jobId: string,
    thing: string,
    options: {
      readonly force: boolean;
      readonly expectedVersion?: number | undefined;
      readonly statusDetails?: StatusDetails | undefined;
    },
  ): void {
    this.#storage.transaction(() => {
      const execution = this.execution(jobId, thing);
      if (execution.status === 'IN_PROGRESS' && !options.force) {
        throw new JobsError('InvalidStateTransition', 'The execution is in progress; use force.');
      }
      const { expectedVersion, statusDetails } = options;
      this.#change(execution, { status: 'CANCELED', expectedVersion, statusDetails });
    });
  }

  /** Newest first. */
  executionsOf(thing: string): Execution[] {
    return this.#storage.executionsOfThing(thing);
  }

  /** Executions in progress first, then queued ones in the order in which they were queued. */
  pendingOf(thing: string): Execution[] {
    return this.#storage.pendingOf(thing);
  }

  /** Returns an execution in progress unchanged, and undefined if none is pending. */
  startNext(thing: string, change: Omit<Change, 'status'>): Execution | undefined {
    return this.#storage.transaction(() => {
      const [next] = this.#storage.pendingOf(thing);
      if (next?.status !== 'QUEUED') return next;
      return this.#change(next, { ...change, status: 'IN_PROGRESS' });
    });
  }

  /** @throws JobsError ResourceNotFound, VersionMismatch, InvalidStateTransition */
  update(jobId: string, thing: string, change: Change, executionNumber?: number): Execution {
    return this.#storage.transaction(() =>
      this.#change(this.execution(jobId, thing, executionNumber), change),
    );
  }

  /** Times out executions after their deadlines. AWS may do so up to a minute late. */
  expire(): void {
    this.#storage.transaction(() => {
      for (const execution of this.#storage.overdue(this.#now())) {
        this.#change(execution, { status: 'TIMED_OUT' });
      }
    });
  }

  #change(execution: Execution, change: Change): Execution {
    const after = changed(execution, change, this.#now());
    this.#storage.saveExecution(after);
    if (isTerminal(after.status)) {
      this.#tell(after, after.status);
      this.#completeJob(after.jobId);
    }
    return after;
  }

  #completeJob(id: string): void {
    const job = this.job(id);
    const counts = this.#storage.countByStatus(id);
    if (job.status !== 'IN_PROGRESS' || counts.has('QUEUED') || counts.has('IN_PROGRESS')) return;
    const now = this.#now();
    this.#storage.saveJob({
      ...job,
      status: 'COMPLETED',
      lastUpdatedAtMs: now,
      completedAtMs: now,
    });
  }

  /** https://docs.aws.amazon.com/iot/latest/developerguide/events-jobs.html */
  #tell(execution: Execution, status: string): void {
    const { jobId, thingArn, statusDetails } = execution;
    const operation = status.toLowerCase();
    const event = {
      eventType: 'JOB_EXECUTION',
      // The id stays the same if the event is delivered twice.
      eventId: randomUUID(),
      timestamp: Math.floor(this.#now() / 1000),
      operation,
      jobId,
      thingArn,
      status,
      ...(statusDetails && { statusDetails }),
    };
    this.#storage.addEvent(`$aws/events/jobExecution/${jobId}/${operation}`, JSON.stringify(event));
  }
}

function thingOfArn(arn: string): string {
  return arn.slice(arn.indexOf(':thing/') + ':thing/'.length);
}
