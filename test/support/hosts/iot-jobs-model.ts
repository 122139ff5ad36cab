// A minimal model of AWS IoT Jobs for one host: it gives jobs to an agent, records its updates,
// and can lose an update or its answer at any moment.

import { randomUUID } from 'node:crypto';
import type { JobStatus } from '#agent/broker/jobs-messages.ts';

interface ModelJob {
  readonly jobId: string;
  readonly document: unknown;
  status: JobStatus;
  statusDetails: Record<string, string>;
  versionNumber: number;
  readonly queuedAt: number;
}

interface ModelUpdate {
  readonly jobId: string;
  readonly status: JobStatus;
  readonly statusDetails: Record<string, string>;
  readonly expectedVersion?: number;
}

/** What happens to an update: accepted, lost, or accepted with the answer lost. */
type Fate = 'take' | 'lose' | 'take and lose the answer';

export interface JobsModel {
  /** Takes what the host publishes; ignores messages that are not about jobs. */
  deliver(topic: string, payload: Buffer): Promise<void>;
  /** Queues a job for the host and notifies it. */
  create(document: unknown, jobId?: string): Promise<string>;
  cancel(jobId: string): Promise<void>;
  job(jobId: string): ModelJob;
  /** The accepted updates, in order. */
  readonly updates: readonly ModelUpdate[];
  /** Decides what happens to an update; by default all are accepted. */
  fate: (update: ModelUpdate) => Fate;
  /** Topics of the requests, in order. */
  readonly requests: readonly string[];
  /** The time in answers, in seconds; undefined: they have none. */
  seconds: number | undefined;
}

interface Request extends Partial<ModelUpdate> {
  readonly clientToken?: string;
}

const ended = (status: JobStatus) => status !== 'QUEUED' && status !== 'IN_PROGRESS';

export function aJobsModel(
  thing: string,
  publish: (topic: string, payload: string) => Promise<void>,
): JobsModel {
  const root = `$aws/things/${thing}/jobs`;
  const jobs = new Map<string, ModelJob>();
  const updates: ModelUpdate[] = [];
  const requests: string[] = [];

  const listed = (status: JobStatus) =>
    [...jobs.values()]
      .filter((job) => job.status === status)
      .map(({ jobId, queuedAt, versionNumber }) => ({ jobId, queuedAt, versionNumber }));
  const notify = () => {
    const pending = { IN_PROGRESS: listed('IN_PROGRESS'), QUEUED: listed('QUEUED') };
    return publish(`${root}/notify`, JSON.stringify({ timestamp: 0, jobs: pending }));
  };

  const answers: Readonly<Record<string, (jobId: string, request: Request) => object>> = {
    describe: (jobId) => {
      const job = jobs.get(jobId);
      if (!job) return { code: 'ResourceNotFound', message: 'no such job' };
      // Like AWS: a device cannot describe a job that has ended.
      if (ended(job.status)) return { code: 'TerminalStateReached', message: '' };
      const { document, ...execution } = job;
      return { execution: { ...execution, executionNumber: 1, jobDocument: document } };
    },
    update: (jobId, request) => {
      const job = jobs.get(jobId);
      if (!job) return { code: 'ResourceNotFound', message: 'no such job' };
      const state = () => ({
        executionState: { status: job.status, versionNumber: job.versionNumber },
      });
      if (ended(job.status)) return { code: 'InvalidStateTransition', message: '', ...state() };
      if (request.expectedVersion !== job.versionNumber) {
        return { code: 'VersionMismatch', message: '', ...state() };
      }
      const { status = job.status, statusDetails = {} } = request;
      Object.assign(job, { status, statusDetails, versionNumber: job.versionNumber + 1 });
      updates.push({ jobId, status, statusDetails });
      return state();
    },
  };

  const model: JobsModel = {
    updates,
    requests,
    fate: () => 'take',
    seconds: undefined,
    deliver: async (topic, payload) => {
      if (!topic.startsWith(`${root}/`)) return;
      const name = topic.slice(root.length + 1);
      const request = JSON.parse(payload.toString()) as Request;
      const { clientToken } = request;
      requests.push(name);
      const [jobId = '', verb] = name.split('/');
      if (verb === undefined) {
        const pending = { inProgressJobs: listed('IN_PROGRESS'), queuedJobs: listed('QUEUED') };
        const timestamp = model.seconds;
        return publish(`${topic}/accepted`, JSON.stringify({ ...pending, clientToken, timestamp }));
      }
      const isUpdate = verb === 'update';
      const before = jobs.get(jobId)?.status;
      const fate = isUpdate ? model.fate({ ...request, jobId } as ModelUpdate) : 'take';
      if (fate === 'lose') return;
      const answer = answers[isUpdate ? 'update' : 'describe']?.(jobId, request) ?? {};
      if (fate === 'take') {
        const suffix = 'code' in answer ? 'rejected' : 'accepted';
        await publish(`${topic}/${suffix}`, JSON.stringify({ ...answer, clientToken }));
      }
      // Also when the job starts, unlike the local AWS IoT: AWS's page says both.
      if (isUpdate && jobs.get(jobId)?.status !== before) await notify();
    },
    create: async (document, jobId = `test-${randomUUID()}`) => {
      const queuedAt = 1_790_000_000 + jobs.size;
      const fresh = { status: 'QUEUED' as const, statusDetails: {}, versionNumber: 1 };
      jobs.set(jobId, { jobId, document, queuedAt, ...fresh });
      await notify();
      return jobId;
    },
    cancel: async (jobId) => {
      const job = model.job(jobId);
      Object.assign(job, { status: 'CANCELED', versionNumber: job.versionNumber + 1 });
      await notify();
    },
    job: (jobId) => {
      const job = jobs.get(jobId);
      if (!job) throw new Error(`unknown job: ${jobId}`);
      return job;
    },
  };
  return model;
}
