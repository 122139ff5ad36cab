// The state of the checkpoint, and how it changes. Pure.

import * as z from 'zod';
import {
  evidence,
  jobAwaits,
  jobFault,
  jobRemains,
  type StepHandle,
} from '#core/contracts/jobs/job-document.ts';
import { attachType, handleInfo } from '#core/shapes/attach-handle.ts';

/** The execution of a work message; AWS IoT numbers those of jobs. */
export const sentExecution = 'message';
/** AWS lists at most fifteen pending jobs; a job that ended this long ago is not listed again. */
const jobsMax = 256;
export const releasedMax = 1024;
/** The most attach handles of a host. */
const handlesMax = 8192;

const stepResult = z.object({
  /** The name of the step: a message and the job that follows it may have different steps. */
  step: z.string().default(''),
  failed: z.string().optional(),
  /** The step failed because of its request, not because of this host. */
  fault: jobFault.optional(),
  /** What the hypervisor attaches, where the host has chosen it. */
  info: handleInfo.optional(),
  /** What the driver has verified after cleaning, or after a component was programmed. */
  evidence: evidence.optional(),
  awaits: jobAwaits.optional(),
});
export type NamedResult = z.infer<typeof stepResult>;
export type StepResult = Omit<NamedResult, 'step'>;

const outcome = z.object({
  status: z.enum(['SUCCEEDED', 'FAILED', 'REJECTED']),
  reason: z.string().optional(),
  fault: jobFault.optional(),
  left: jobRemains.optional(),
  awaits: jobAwaits.optional(),
  /** Keys are uuids of handles. */
  prepared: z.record(z.string(), handleInfo).optional(),
  /** Keys are uuids of handles, or a component. */
  evidence: z.record(z.string(), evidence).optional(),
});
export type JobOutcome = z.infer<typeof outcome>;

const mark = z.object({
  driver: z.string(),
  address: z.string(),
  type: attachType,
  info: handleInfo,
  /** Epoch of the attach handle when it was last prepared. */
  epoch: z.number(),
  /** The last step about it was to prepare it, and has succeeded. */
  is_confirmed: z.boolean(),
});
/** A handle that the agent has prepared, or is about to prepare. */
export type PreparedMark = z.infer<typeof mark>;
/** A handle, and its epoch at a claim or after its release. */
export type ReleasedHandle = Pick<StepHandle, 'uuid' | 'epoch'>;

/** What a claim says of it. */
export type ClaimedMark = Omit<PreparedMark, 'is_confirmed'>;

const cleaning = z.object({ epoch: z.number(), evidence });
export type Cleaning = z.infer<typeof cleaning>;

const jobRecord = z.object({
  /** Distinguishes executions of the same job. */
  execution: z.string(),
  claim: z
    .object({
      step: z.number().int(),
      intent: z.record(z.string(), z.string()),
    })
    .optional(),
  /** Results of the finished steps. */
  results: z.array(stepResult),
  outcome: outcome.optional(),
});
export type JobRecord = z.infer<typeof jobRecord>;
export type Claim = NonNullable<JobRecord['claim']>;

export const state = z.object({
  version: z.literal(2),
  boot_id: z.string(),
  jobs: z.record(z.string(), jobRecord),
  /** Keys are uuids of handles, as those of the next two. */
  prepared: z.record(z.string(), mark),
  /** What an earlier boot had prepared, and this one has not yet. */
  lost: z.record(z.string(), mark),
  cleaned: z.record(z.string(), cleaning),
  /** Ended binds and parts of binds, the latest last. */
  released: z.array(z.string()),
  /** Epoch of each handle when it was last released, the latest last. */
  released_epochs: z.record(z.string(), z.number()).default({}),
});
export type State = z.infer<typeof state>;

/** Whether a handle was prepared for a claim after the release of this epoch. */
export function isPreparedLater(mark: PreparedMark | undefined, epoch: number): boolean {
  return mark !== undefined && mark.epoch >= epoch;
}

/** Adds the job as the newest and drops the jobs that ended first. */
export function withJob(before: State, jobId: string, record: JobRecord): State {
  const { [jobId]: _, ...others } = before.jobs;
  const entries = Object.entries(others);
  const excess = Math.max(0, entries.length + 1 - jobsMax);
  const oldest = [...entries.filter(([, { outcome }]) => outcome), ...entries].slice(0, excess);
  const forgotten = new Set(oldest.map(([id]) => id));
  const kept = entries.filter(([id]) => !forgotten.has(id));
  return { ...before, jobs: Object.fromEntries([...kept, [jobId, record]]) };
}

export function unmarked(
  before: State,
  { intent }: Claim,
  result: StepResult,
  seen: 'absent' | undefined,
): Partial<State> {
  const { kind, uuid = '', epoch } = intent;
  if (kind === 'prepare' && seen === 'absent') {
    // A failed step alone proves nothing: an earlier run of it may have prepared the handle.
    return { prepared: without(before.prepared, uuid) };
  }
  if (result.failed !== undefined) return {};
  const mark = before.prepared[uuid];
  if (kind === 'prepare' && mark) {
    return { prepared: { ...before.prepared, [uuid]: { ...mark, is_confirmed: true } } };
  }
  if (kind !== 'clean') return {};
  const isKept = isPreparedLater(before.prepared[uuid], Number(epoch));
  return {
    ...(!isKept && { prepared: without(before.prepared, uuid) }),
    ...(result.evidence && {
      cleaned: withNewest(before.cleaned, uuid, {
        epoch: Number(epoch),
        evidence: result.evidence,
      }),
    }),
  };
}

/** A release that is late lowers no epoch. */
export function withEpochs(before: State, handles: readonly ReleasedHandle[]) {
  return handles.reduce((epochs, { uuid, epoch }) => {
    const latest = Math.max(epoch, ownEntry(epochs, uuid) ?? epoch);
    return withNewest(epochs, uuid, latest);
  }, before.released_epochs);
}

/** Adds it as the newest; the oldest is forgotten first. */
function withNewest<T>(before: Readonly<Record<string, T>>, uuid: string, latest: T) {
  const others = Object.entries(without(before, uuid));
  return Object.fromEntries([...others.slice(1 - handlesMax), [uuid, latest]]);
}

export function ownEntry<T>(entries: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(entries, key) ? entries[key] : undefined;
}

export function without<T>(entries: Readonly<Record<string, T>>, key: string): Record<string, T> {
  const { [key]: _, ...others } = entries;
  return others;
}
