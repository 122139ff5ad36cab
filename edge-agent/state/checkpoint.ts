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

import { type Log, reasonOf } from '#agent/log.ts';
import {
  type ClaimedMark,
  type Cleaning,
  type JobOutcome,
  type JobRecord,
  type NamedResult,
  ownEntry,
  type PreparedMark,
  type ReleasedHandle,
  releasedMax,
  type State,
  sentExecution,
  state,
  unmarked,
  withEpochs,
  withJob,
  without,
} from './checkpoint-state.ts';
import type { StateFiles } from './state-files.ts';

const fileName = 'jobs.json';

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
  /** Refuses all later steps for these binds or parts of binds, and for earlier claims. */
  release(ended: readonly string[], handles: readonly ReleasedHandle[]): Promise<void>;
  isReleased(ended: string): boolean;
  /** Whether the handle was released since the claim of this epoch. */
  isClaimOver(handle: ReleasedHandle): boolean;
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
    isClaimOver: ({ uuid, epoch }) => epoch < (ownEntry(current.released_epochs, uuid) ?? epoch),
    release: (ended, handles) =>
      store((before) => {
        const others = before.released.filter((each) => !ended.includes(each));
        const released = [...others, ...ended].slice(-releasedMax);
        return { ...before, released, released_epochs: withEpochs(before, handles) };
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
    released_epochs: {},
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
