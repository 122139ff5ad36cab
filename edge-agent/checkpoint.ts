// What the agent must still know after it was killed: which step of which job it was about, how
// jobs ended, and which mdevs it made.
//
// INVARIANTS
// - A claim is on disk before the device is touched, and a result before the job is answered. So
//   after a crash, each step that may have begun is known, and what is answered stays answered.
// - The file is replaced as a whole: what is in it is one state, never half of two.
// - An mdev is marked as ours in the same write that claims its making. The mark stays until the
//   mdev's removal is recorded, or until a look has shown that the mdev is not there. An mdev
//   without a mark is never removed.
// - A file that this version cannot read is kept under another name, never overwritten: the marks in
//   it are all that tells our mdevs from others'.
// - Memory is changed after the disk: what could not be stored did not happen.
// - A boot ends everything: its mdevs are gone, and documents for it are refused. Nothing of an
//   earlier boot is kept.
// - The number of jobs remembered is bounded; those that ended longest ago are forgotten first.

import * as z from 'zod';
import { jobFault, jobRemains } from '#core/contracts/job-document.ts';
import { type Log, reasonOf } from './log.ts';
import type { StateFiles } from './state-files.ts';

const fileName = 'jobs.json';
/** AWS lists fifteen pending jobs at most; a job ended this long ago is not listed again. */
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
  /** @param seen what a look after the step has shown of the mdev that the step was to make */
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
        const results = job(jobId, execution)?.results ?? [];
        const claim = { step: results.length, intent };
        const mdevs = marked(before.mdevs, intent);
        return { ...withJob(before, jobId, { execution, claim, results }), mdevs };
      }),
    record: (jobId, execution, result, seen) =>
      store((before) => {
        // Without a claim the step was refused before it touched the device.
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

/** Whether the mdev was made for a claim after the release of this epoch. */
export function isMadeLater(mark: MdevMark | undefined, epoch: number | undefined): boolean {
  return epoch !== undefined && mark?.epoch !== undefined && mark.epoch >= epoch;
}

/**
 * @throws where the file can neither be read nor kept aside: the agent must not start without it
 */
async function readState(files: StateFiles, bootId: string, log: Log): Promise<State> {
  const nothing: State = { version: 1, boot_id: bootId, jobs: {}, mdevs: {}, released: [] };
  const text = await files.read(fileName);
  if (text === undefined) return nothing;
  try {
    const stored = state.parse(JSON.parse(text));
    return stored.boot_id === bootId ? stored : nothing;
  } catch (error) {
    const kept = await files.keepAside(fileName);
    // Without marks no mdev is ours: those that are there stay until the host boots.
    log.error('The checkpoint cannot be read; it is kept aside.', {
      file: kept,
      reason: reasonOf(error),
    });
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

function unmarked(
  mdevs: State['mdevs'],
  claim: Claim,
  result: StepResult,
  seen: 'absent' | undefined,
): State['mdevs'] {
  const { kind, uuid = '', epoch } = claim.intent;
  const isKept = isMadeLater(mdevs[uuid], epoch === undefined ? undefined : Number(epoch));
  const isRemoved = kind === 'remove-mdev' && result.failed === undefined && !isKept;
  // A failed step says nothing of the mdev: an earlier run of the step may have made it.
  const isNotMade = kind === 'create-mdev' && seen === 'absent';
  if (!isRemoved && !isNotMade) return mdevs;
  const { [uuid]: _, ...others } = mdevs;
  return others;
}
