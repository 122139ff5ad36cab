// What the agent must remember across a crash: the step that each job has begun, the outcomes of
// jobs, and the mdevs that the agent created.
//
// INVARIANTS
// - A claim is on disk before the device is touched, and a result before the job is answered.
//   After a crash every step that may have begun is known, and an answer does not change.
// - The file is replaced atomically, so it never holds parts of two states.
// - An mdev is marked as ours in the same write that claims its creation. The mark stays until
//   the removal of the mdev is recorded, or until the driver's list shows that the mdev does not
//   exist. An mdev without a mark is never removed.
// - A file that this version cannot read is kept under another name and never overwritten: only
//   its marks tell our mdevs from those of other programs.
// - Memory changes after the disk: a change that could not be stored has no effect.
// - A boot invalidates all entries: the mdevs are gone, and documents for an earlier boot are
//   refused.
// - The number of remembered jobs is bounded; the jobs that ended first are dropped first.

import * as z from 'zod';
import { jobFault, jobRemains } from '#core/contracts/job-document.ts';
import { type Log, reasonOf } from './log.ts';
import type { StateFiles } from './state-files.ts';

const fileName = 'jobs.json';
/** AWS lists at most fifteen pending jobs; a job that ended this long ago is not listed again. */
const jobsMax = 256;
const releasedMax = 1024;

const stepResult = z.object({
  failed: z.string().optional(),
  /** The step failed because of its request, not because of this host. */
  fault: jobFault.optional(),
});
export type StepResult = z.infer<typeof stepResult>;

const outcome = z.object({
  status: z.enum(['SUCCEEDED', 'FAILED', 'REJECTED']),
  reason: z.string().optional(),
  fault: jobFault.optional(),
  left: jobRemains.optional(),
});
export type JobOutcome = z.infer<typeof outcome>;

const mark = z.object({
  address: z.string(),
  type: z.string(),
  /** Epoch of its attach handle when the mdev was last requested. */
  epoch: z.number().optional(),
});
export type MdevMark = z.infer<typeof mark>;

const jobRecord = z.object({
  /** Distinguishes executions of the same job. */
  execution: z.string(),
  claim: z
    .object({
      step: z.number().int(),
      intent: z.record(z.string(), z.string()),
    })
    .optional(),
  /** Results of the finished steps, in order. */
  results: z.array(stepResult),
  outcome: outcome.optional(),
});
export type JobRecord = z.infer<typeof jobRecord>;
type Claim = NonNullable<JobRecord['claim']>;

const state = z.object({
  version: z.literal(1),
  boot_id: z.string(),
  jobs: z.record(z.string(), jobRecord),
  mdevs: z.record(z.string(), mark),
  /** Ended binds and parts of binds, the latest last. */
  released: z.array(z.string()),
});
type State = z.infer<typeof state>;

/** What a step is about to do: its fields except the image's URL, which is a secret. */
export type Intent = Readonly<Record<string, string>>;

export interface Checkpoint {
  job(jobId: string, execution: string): JobRecord | undefined;
  /** The mark of an mdev that the agent created or is about to create. */
  mdev(uuid: string): MdevMark | undefined;
  /** Refuses all later steps for these binds or parts of binds. */
  release(ended: readonly string[]): Promise<void>;
  isReleased(ended: string): boolean;
  claim(jobId: string, execution: string, intent: Intent): Promise<void>;
  /** @param seen `absent` if the mdev that the step creates does not exist after the step */
  record(jobId: string, execution: string, result: StepResult, seen?: 'absent'): Promise<void>;
  finish(jobId: string, execution: string, outcome: JobOutcome): Promise<void>;
}

export interface CheckpointDeps {
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
    const record = Object.hasOwn(current.jobs, jobId) ? current.jobs[jobId] : undefined;
    return record?.execution === execution ? record : undefined;
  };

  return {
    job,
    mdev: (uuid) => (Object.hasOwn(current.mdevs, uuid) ? current.mdevs[uuid] : undefined),
    isReleased: (ended) => current.released.includes(ended),
    release: (ended) =>
      store((before) => {
        const others = before.released.filter((each) => !ended.includes(each));
        return { ...before, released: [...others, ...ended].slice(-releasedMax) };
      }),
    claim: (jobId, execution, intent) =>
      store((before) => {
        const results = job(jobId, execution)?.results ?? [];
        const claim = { step: results.length, intent };
        const mdevs = marked(before.mdevs, intent);
        return { ...withJob(before, jobId, { execution, claim, results }), mdevs };
      }),
    record: (jobId, execution, result, seen) =>
      store((before) => {
        // A step without a claim was refused before it touched the device.
        const { claim, results } = job(jobId, execution) ?? { results: [] };
        const done = { execution, results: [...results, result] };
        const mdevs = claim ? unmarked(before.mdevs, claim, result, seen) : before.mdevs;
        return { ...withJob(before, jobId, done), mdevs };
      }),
    finish: (jobId, execution, ended) =>
      store((before) => {
        const record = job(jobId, execution) ?? { execution, results: [] };
        return withJob(before, jobId, { ...record, outcome: ended });
      }),
  };
}

/** Whether the mdev was created for a claim after the release of this epoch. */
export function isMadeLater(mark: MdevMark | undefined, epoch: number | undefined): boolean {
  return epoch !== undefined && mark?.epoch !== undefined && mark.epoch >= epoch;
}

/** @throws if the file can neither be read nor kept aside: the agent must not start without it */
async function readState(files: StateFiles, bootId: string, log: Log): Promise<State> {
  const nothing: State = { version: 1, boot_id: bootId, jobs: {}, mdevs: {}, released: [] };
  const text = await files.read(fileName);
  if (text === undefined) return nothing;
  try {
    const stored = state.parse(JSON.parse(text));
    return stored.boot_id === bootId ? stored : nothing;
  } catch (error) {
    const kept = await files.keepAside(fileName);
    // Without marks all existing mdevs count as foreign: they stay until the host reboots.
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

function marked(mdevs: State['mdevs'], intent: Intent): State['mdevs'] {
  const { kind, uuid, address, type, epoch } = intent;
  if (kind !== 'create-mdev' || !uuid || !address || !type) return mdevs;
  const known = mdevs[uuid] ?? { address, type };
  return { ...mdevs, [uuid]: { ...known, ...(epoch && { epoch: Number(epoch) }) } };
}

function unmarked(
  mdevs: State['mdevs'],
  claim: Claim,
  result: StepResult,
  seen: 'absent' | undefined,
): State['mdevs'] {
  const { kind, uuid = '', epoch } = claim.intent;
  const isKept = isMadeLater(mdevs[uuid], epoch === undefined ? undefined : Number(epoch));
  const isRemoved = kind === 'remove-mdev' && result.failed === undefined && !isKept;
  // A failed step proves nothing about the mdev: an earlier run of the step may have created it.
  const isNotMade = kind === 'create-mdev' && seen === 'absent';
  if (!isRemoved && !isNotMade) return mdevs;
  const { [uuid]: _, ...others } = mdevs;
  return others;
}
