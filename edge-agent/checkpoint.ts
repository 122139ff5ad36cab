// What the agent must still know after it was killed: which step of which job it was about, how
// jobs ended, and which mdevs it made.
//
// INVARIANTS
// - A claim is on disk before the device is touched, and a result before the job is answered. So
//   after a crash, each step that may have begun is known, and what is answered stays answered.
// - The file is replaced as a whole: what is in it is one state, never half of two.
// - An mdev is marked as ours in the same write that claims its making, and stays marked until its
//   removal is recorded. What carries no mark is never removed.
// - Memory is changed after the disk: what could not be stored did not happen.
// - A boot ends everything: its mdevs are gone, and documents for it are refused. Nothing of an
//   earlier boot is kept.
// - The number of jobs remembered is bounded; those that ended longest ago are forgotten first.

import * as z from 'zod';
import { type Log, reasonOf } from './log.ts';
import type { StateFiles } from './state-files.ts';

const fileName = 'jobs.json';
/** AWS lists fifteen pending jobs at most; a job ended this long ago is not listed again. */
const jobsMax = 256;
const releasedMax = 1024;

const stepResult = z.object({ failed: z.string().optional() });
export type StepResult = z.infer<typeof stepResult>;

const outcome = z.object({
  status: z.enum(['SUCCEEDED', 'FAILED', 'REJECTED']),
  reason: z.string().optional(),
});
export type JobOutcome = z.infer<typeof outcome>;

const mark = z.object({
  address: z.string(),
  type: z.string(),
  /** Of its attach handle, when it was last asked for. */
  epoch: z.number().optional(),
});
export type MdevMark = z.infer<typeof mark>;

const jobRecord = z.object({
  /** Tells one execution from another of the same job. */
  execution: z.string(),
  claim: z
    .object({
      step: z.number().int(),
      intent: z.record(z.string(), z.string()),
      /** Whether it is by this claim that the mdev counts as ours. */
      marks: z.boolean(),
    })
    .optional(),
  /** Of the steps done, in their order. */
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
  /** Binds and parts of binds, the latest last. */
  released: z.array(z.string()),
});
type State = z.infer<typeof state>;

/** What a step is about to do: its fields but for the image's URL, which is a secret. */
export type Intent = Readonly<Record<string, string>>;

export interface Checkpoint {
  job(jobId: string, execution: string): JobRecord | undefined;
  /** The mark of an mdev that we made, or are about to make. */
  mdev(uuid: string): MdevMark | undefined;
  /** From now on nothing is made ready for these binds, or parts of binds. */
  release(ended: readonly string[]): Promise<void>;
  isReleased(ended: string): boolean;
  claim(jobId: string, execution: string, intent: Intent): Promise<void>;
  record(jobId: string, execution: string, result: StepResult): Promise<void>;
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

  /** One after another, so that each builds on what is stored. */
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
        const previous = job(jobId, execution);
        const results = previous?.results ?? [];
        const mdevs = marked(before.mdevs, intent);
        // A claim that is made again after a crash finds its own mark.
        const isNew = Object.keys(mdevs).length > Object.keys(before.mdevs).length;
        const marks = isNew || (previous?.claim?.marks ?? false);
        const claim = { step: results.length, intent, marks };
        return { ...withJob(before, jobId, { execution, claim, results }), mdevs };
      }),
    record: (jobId, execution, result) =>
      store((before) => {
        // Without a claim the step was refused before it touched anything.
        const { claim, results } = job(jobId, execution) ?? { results: [] };
        const done = { execution, results: [...results, result] };
        const mdevs = claim ? unmarked(before.mdevs, claim, result) : before.mdevs;
        return { ...withJob(before, jobId, done), mdevs };
      }),
    finish: (jobId, execution, ended) =>
      store((before) => {
        const record = job(jobId, execution) ?? { execution, results: [] };
        return withJob(before, jobId, { ...record, outcome: ended });
      }),
  };
}

/** For somebody who came after the release of this epoch: what that is about is gone already. */
export function isMadeLater(mark: MdevMark | undefined, epoch: number | undefined): boolean {
  return epoch !== undefined && mark?.epoch !== undefined && mark.epoch >= epoch;
}

async function readState(files: StateFiles, bootId: string, log: Log): Promise<State> {
  const nothing: State = { version: 1, boot_id: bootId, jobs: {}, mdevs: {}, released: [] };
  try {
    const text = await files.read(fileName);
    if (text === undefined) return nothing;
    const stored = state.parse(JSON.parse(text));
    return stored.boot_id === bootId ? stored : nothing;
  } catch (error) {
    // Without marks we own nothing: mdevs stay, and are taken over by jobs that name them.
    log.error('What was kept of jobs cannot be read.', { reason: reasonOf(error) });
    return nothing;
  }
}

/** The job becomes the newest; the oldest that have ended make room. */
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

function unmarked(mdevs: State['mdevs'], claim: Claim, result: StepResult): State['mdevs'] {
  const { kind, uuid = '', epoch } = claim.intent;
  const isKept = isMadeLater(mdevs[uuid], epoch === undefined ? undefined : Number(epoch));
  const isRemoved = kind === 'remove-mdev' && result.failed === undefined && !isKept;
  const isNotMade = claim.marks && result.failed !== undefined;
  if (!isRemoved && !isNotMade) return mdevs;
  const { [uuid]: _, ...others } = mdevs;
  return others;
}
