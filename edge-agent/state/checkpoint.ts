// What the agent must remember across a crash: the step that each job has begun, the outcomes of
// jobs, and the handles that the agent has prepared and cleaned.
//
// INVARIANTS
// - A claim is on disk before the device is touched, and a result before the job is answered.
//   After a crash every step that may have begun is known, and an answer does not change.
// - The file is replaced atomically, so it never holds parts of two states.
// - What a handle stands for is marked as ours in the same write that claims its preparation. The
//   mark stays until its cleaning is recorded, or until the driver finds that it does not exist.
//   An object without a mark is never cleaned.
// - A file that this version cannot read is kept under another name and never overwritten: only
//   its marks distinguish our objects from those of other programs. The files of the release
//   before are read: a new field has a default.
// - Memory changes after the disk: a change that could not be stored has no effect.
// - A boot invalidates all entries: what was prepared is gone, and documents for an earlier boot
//   are refused. Confirmed marks of the boot before are kept as `lost`, to prepare it again.
// - The number of remembered jobs is bounded; the jobs that ended first are dropped first.

import * as z from 'zod';
import { type Log, reasonOf } from '#agent/log.ts';
import { evidence, jobAwaits, jobFault, jobRemains } from '#core/contracts/job-document.ts';
import { attachType, handleInfo } from '#core/shapes/attach-handle.ts';
import type { StateFiles } from './state-files.ts';

const fileName = 'jobs.json';
/** The execution of a work message; AWS IoT numbers those of jobs. */
export const sentExecution = 'message';
/** AWS lists at most fifteen pending jobs; a job that ended this long ago is not listed again. */
const jobsMax = 256;
const releasedMax = 1024;
/** The most attach handles of a host. */
const cleanedMax = 8192;

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
type NamedResult = z.infer<typeof stepResult>;
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
/** What a claim says of it. */
export type ClaimedMark = Omit<PreparedMark, 'is_confirmed'>;

const cleaning = z.object({ epoch: z.number(), evidence });
type Cleaning = z.infer<typeof cleaning>;

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
type JobRecord = z.infer<typeof jobRecord>;
type Claim = NonNullable<JobRecord['claim']>;

const state = z.object({
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
});
type State = z.infer<typeof state>;

/** What a step is about to do: its fields except the image's URL, which is a secret. */
export type Intent = Readonly<Record<string, string>>;

export interface Checkpoint {
  job(jobId: string, execution: string): JobRecord | undefined;
  prepared(uuid: string): PreparedMark | undefined;
  marks(): Readonly<Record<string, PreparedMark>>;
  /** The last cleaning of hardware that the handle stands for. */
  cleaned(uuid: string): Cleaning | undefined;
  /** What an earlier boot had prepared, and this one has not yet; by the uuids of handles. */
  lost(): Readonly<Record<string, PreparedMark>>;
  /** Ends the attempt to prepare a lost handle again; `mark` if it may exist now. */
  recover(uuid: string, mark?: PreparedMark): Promise<void>;
  /** Refuses all later steps for these binds or parts of binds. */
  release(ended: readonly string[]): Promise<void>;
  isReleased(ended: string): boolean;
  /** @param mark for a step that prepares a handle */
  claim(jobId: string, execution: string, intent: Intent, mark?: ClaimedMark): Promise<void>;
  /** @param seen `absent` if what the step prepares does not exist after the step */
  record(jobId: string, execution: string, result: NamedResult, seen?: 'absent'): Promise<void>;
  finish(jobId: string, execution: string, outcome: JobOutcome): Promise<void>;
}

interface CheckpointDeps {
  readonly files: StateFiles;
  readonly bootId: string;
  readonly log: Log;
}

export async function openCheckpoint({ files, bootId, log }: CheckpointDeps): Promise<Checkpoint> {
  let current = await readState(files, bootId, log);
  let writing: Promise<unknown> = Promise.resolve();

  /** Serializes the writes, so that each builds on the stored state. */
  function store(change: (before: State) => State): Promise<void> {
    const stored = writing.then(async () => {
      const next = change(current);
      await files.replace(fileName, JSON.stringify(next));
      current = next;
    });
    writing = stored.catch(() => {});
    return stored;
  }

  const job = (jobId: string, execution: string) => {
    const record = ownEntry(current.jobs, jobId);
    // The job that follows a message goes on where the message's execution ended.
    const isKnown = record?.execution === execution || record?.execution === sentExecution;
    return isKnown ? record : undefined;
  };

  return {
    job,
    prepared: (uuid) => ownEntry(current.prepared, uuid),
    marks: () => current.prepared,
    cleaned: (uuid) => ownEntry(current.cleaned, uuid),
    lost: () => current.lost,
    recover: (uuid, mark) =>
      store((before) => ({
        ...before,
        lost: without(before.lost, uuid),
        prepared: mark ? { ...before.prepared, [uuid]: mark } : before.prepared,
      })),
    isReleased: (ended) => current.released.includes(ended),
    release: (ended) =>
      store((before) => {
        const others = before.released.filter((each) => !ended.includes(each));
        return { ...before, released: [...others, ...ended].slice(-releasedMax) };
      }),
    claim: (jobId, execution, intent, mark) =>
      store((before) => {
        const results = job(jobId, execution)?.results ?? [];
        const claim = { step: results.length, intent };
        const { uuid } = intent;
        const marked = mark ?? (uuid ? before.prepared[uuid] : undefined);
        // Until the result is recorded, it is unknown whether the object exists.
        const prepared =
          marked && uuid
            ? { ...before.prepared, [uuid]: { ...marked, is_confirmed: false } }
            : before.prepared;
        // The job knows more than the boot before.
        const lost = uuid ? without(before.lost, uuid) : before.lost;
        return { ...withJob(before, jobId, { execution, claim, results }), prepared, lost };
      }),
    record: (jobId, execution, result, seen) =>
      store((before) => {
        // A step without a claim was refused before it touched the device.
        const { claim, results } = job(jobId, execution) ?? { results: [] };
        const done = { execution, results: [...results, result] };
        const marks = claim ? unmarked(before, claim, result, seen) : {};
        return { ...withJob(before, jobId, done), ...marks };
      }),
    finish: (jobId, execution, ended) =>
      store((before) => {
        const record = job(jobId, execution) ?? { execution, results: [] };
        return withJob(before, jobId, { ...record, outcome: ended });
      }),
  };
}

/** Whether a handle was prepared for a claim after the release of this epoch. */
export function isPreparedLater(mark: PreparedMark | undefined, epoch: number): boolean {
  return mark !== undefined && mark.epoch >= epoch;
}

/** @throws if the file can neither be read nor kept aside: the agent must not start without it */
async function readState(files: StateFiles, bootId: string, log: Log): Promise<State> {
  const nothing: State = {
    version: 2,
    boot_id: bootId,
    jobs: {},
    prepared: {},
    lost: {},
    cleaned: {},
    released: [],
  };
  const text = await files.read(fileName);
  if (text === undefined) return nothing;
  try {
    const stored = state.parse(JSON.parse(text));
    if (stored.boot_id === bootId) return stored;
    const handles = Object.entries({ ...stored.lost, ...stored.prepared });
    const lost = Object.fromEntries(handles.filter(([, each]) => each.is_confirmed));
    return { ...nothing, lost, cleaned: stored.cleaned };
  } catch (error) {
    const kept = await files.keepAside(fileName);
    // Without marks all existing objects count as foreign: they stay until the host reboots.
    log.error('Checkpoint unreadable, kept aside', {
      file: kept,
      reason: reasonOf(error),
    });
    return nothing;
  }
}

/** Adds the job as the newest and drops the jobs that ended first. */
function withJob(before: State, jobId: string, record: JobRecord): State {
  const { [jobId]: _, ...others } = before.jobs;
  const entries = Object.entries(others);
  const excess = Math.max(0, entries.length + 1 - jobsMax);
  const oldest = [...entries.filter(([, { outcome }]) => outcome), ...entries].slice(0, excess);
  const forgotten = new Set(oldest.map(([id]) => id));
  const kept = entries.filter(([id]) => !forgotten.has(id));
  return { ...before, jobs: Object.fromEntries([...kept, [jobId, record]]) };
}

function unmarked(
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
      cleaned: withCleaning(before.cleaned, uuid, {
        epoch: Number(epoch),
        evidence: result.evidence,
      }),
    }),
  };
}

/** Adds it as the newest; the oldest is forgotten first. */
function withCleaning(before: State['cleaned'], uuid: string, latest: Cleaning) {
  const others = Object.entries(without(before, uuid));
  return Object.fromEntries([...others.slice(1 - cleanedMax), [uuid, latest]]);
}

function ownEntry<T>(entries: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(entries, key) ? entries[key] : undefined;
}

function without<T>(entries: Readonly<Record<string, T>>, key: string): Record<string, T> {
  const { [key]: _, ...others } = entries;
  return others;
}
