// Runs the pending jobs of this host to their end, in parallel on different devices. Jobs keep
// running while the connection is lost; the next connection answers those that ended meanwhile.
//
// INVARIANTS
// - A job in `running` is not started again by another notification.
// - AWS has confirmed that a job is in progress, under the version that the agent knows, before
//   its first step: a job that was cancelled before never begins. For a work message, which is
//   short and cannot be cancelled, no such question is asked.
// - A job whose steps a message has all done is answered with the message's outcome.
// - The outcome of steps is recorded before it is answered; if recording fails, that failure is
//   the answer.

import { type Execution, holdExecution } from '#agent/broker/job-execution.ts';
import { trackProgress } from '#agent/broker/job-progress.ts';
import type { JobExecution, PendingJob } from '#agent/broker/jobs-messages.ts';
import {
  hasEnded,
  type JobsChannel,
  type JobsDeps,
  openJobs,
} from '#agent/broker/jobs-protocol.ts';
import type { Session } from '#agent/broker/mqtt.ts';
import { type Job, type Recipient, readJob } from '#agent/broker/read-job.ts';
import { holdMessage, takeWorkMessages } from '#agent/broker/work-messages.ts';
import { createCloudClock, type Skew } from '#agent/cloud-clock.ts';
import { createDeviceLocks } from '#agent/device-locks.ts';
import { reasonOf } from '#agent/log.ts';
import type { RediscoverRequests } from '#agent/report/rediscover-requests.ts';
import type { JobOutcome } from '#agent/state/checkpoint-state.ts';
import type { JobStep } from '#core/contracts/jobs/job-document.ts';
import type { CardsMessage, WorkMessage } from '#core/contracts/jobs/work-message.ts';
import { JobStopped } from './prepare-region.ts';
import { isDone, leavesNothing, runSteps, type StepsDeps } from './run-steps.ts';

/** Notifications are not guaranteed; this limits how long a job waits after a lost one. */
const askAgainMs = 5 * 60_000;

export interface JobRunner {
  /** Runs jobs until the connection is lost; never rejects. */
  serve(session: Session): Promise<void>;
  /** How far the host's clock is from the control plane's, once an answer has had its time. */
  skew(): Skew | undefined;
  /** Resolves when no job touches a device any more. */
  idle(): Promise<void>;
}

interface JobRunnerDeps extends StepsDeps, JobsDeps, Recipient {
  readonly stage: string;
  readonly looks: RediscoverRequests;
  /**
   * Aborts when the process ends: jobs stop at their next safe point and resume after the next
   * start.
   */
  readonly stop: AbortSignal;
  /** The control plane has said which cards were offered before. */
  readonly onCards?: (message: CardsMessage) => void;
}

interface Running {
  /** Aborts when the control plane has cancelled the job. */
  readonly cancelled: AbortController;
  readonly ended: Promise<void>;
  /** AWS IoT lists it among the pending jobs of the host; false for a work message. */
  readonly isListed: boolean;
}

export function createJobRunner(deps: JobRunnerDeps): JobRunner {
  const { log, checkpoint, looks, stop } = deps;
  const locks = createDeviceLocks();
  const cloudClock = createCloudClock(deps.clock);
  const running = new Map<string, Running>();
  /** Jobs that are being answered: an update that they are over is expected. */
  const answering = new Set<string>();
  let channel: JobsChannel | undefined;
  let connection: Session | undefined;
  /** Jobs that were listed while a message with their id was carried out. */
  const behindMessages = new Set<string>();
  let takeListed = (): void => {};

  async function takeAll(jobs: JobsChannel, pending: readonly PendingJob[]): Promise<void> {
    const listed = pending.map(({ jobId }) => jobId);
    const unlisted = [...running].flatMap(([jobId, { isListed }]) =>
      isListed && !listed.includes(jobId) && !answering.has(jobId) ? [jobId] : [],
    );
    const fresh = listed.filter((jobId) => !running.has(jobId));
    for (const jobId of listed) {
      if (running.get(jobId)?.isListed === false) behindMessages.add(jobId);
    }
    const described = await Promise.all(
      [...fresh, ...unlisted].map(async (jobId) => ({ jobId, found: await describe(jobs, jobId) })),
    );
    // Jobs start in the order of the list, so that they queue for their devices in that order.
    for (const { jobId, found: description } of described) {
      if (description === 'unreadable') continue;
      const isOver = !description || hasEnded(description.status);
      // A list shows ten jobs and may be late, so a missing job may still run.
      if (isOver) running.get(jobId)?.cancelled.abort();
      else if (!running.has(jobId) && !stop.aborted) start(description);
    }
  }

  async function describe(jobs: JobsChannel, jobId: string) {
    try {
      return await jobs.describe(jobId);
    } catch (error) {
      log.error('Job unreadable', { job: jobId, reason: reasonOf(error) });
      return 'unreadable' as const;
    }
  }

  function start(execution: JobExecution): void {
    const cancelled = new AbortController();
    const handle = holdExecution(execution, () => channel, cancelled);
    begin(handle, execution.jobDocument, { cancelled, isListed: true });
  }

  function takeMessage({ job_id: jobId, document }: WorkMessage): void {
    if (running.has(jobId) || stop.aborted) return;
    const handle = holdMessage(deps, jobId, () => connection);
    begin(handle, document, { cancelled: new AbortController(), isListed: false });
  }

  function begin(
    handle: Execution,
    document: unknown,
    { cancelled, isListed }: Omit<Running, 'ended'>,
  ): void {
    const { jobId } = handle;
    const ended = run(handle, document, cancelled)
      .catch((error: unknown) => {
        // Most likely the connection was lost; the next connection lists pending jobs again.
        log.warn('Job postponed', { job: jobId, reason: reasonOf(error) });
      })
      .finally(() => {
        running.delete(jobId);
        answering.delete(jobId);
        if (behindMessages.delete(jobId)) takeListed();
      });
    running.set(jobId, { cancelled, ended, isListed });
  }

  async function run(
    handle: Execution,
    document: unknown,
    cancelled: AbortController,
  ): Promise<void> {
    const { jobId } = handle;
    const read = readJob(document, deps);
    // The control plane has cleared what it knows of a programmed region, so the next report
    // describes all devices, even unchanged ones.
    const isProgram = 'job' in read && read.job.steps.some(writesImage);
    const answer = async (outcome: JobOutcome) => {
      answering.add(jobId);
      if (!(await handle.answer(outcome))) return;
      log.info('Job answered', { job: jobId, ...outcome });
      // Not awaited: the change is reported by this session or by the next.
      looks.ask(isProgram ? 'everything' : 'changes');
    };
    if ('refused' in read) return answer({ status: 'REJECTED', reason: read.refused });
    const { job } = read;
    const recorded = checkpoint.job(jobId, handle.identity);
    // A job may have steps that the message before it had not.
    const isSame = recorded?.execution === handle.identity || isDone(job, recorded?.results ?? []);
    if (recorded?.outcome && isSame) return answer(recorded.outcome);
    const addresses = [...new Set(job.steps.map(({ address }) => address))];
    const stopped = AbortSignal.any([cancelled.signal, stop]);
    const outcome = await locks.hold(addresses, () => carryOut(job, handle, stopped));
    if (outcome) await answer(outcome);
    // Otherwise the control plane cancelled the job, or the agent stops and resumes it after its
    // next start.
    else log.info('Job stopped', { job: jobId, cancelled: cancelled.signal.aborted });
  }

  /** Undefined if it was stopped. */
  async function carryOut(
    job: Job,
    handle: Execution,
    stopped: AbortSignal,
  ): Promise<JobOutcome | undefined> {
    const { jobId, identity } = handle;
    const steps = job.steps.length;
    const done = checkpoint.job(jobId, identity)?.results.length ?? 0;
    const details = steps > 0 ? { step: `${Math.min(done + 1, steps)}/${steps}` } : {};
    if (stopped.aborted || !(await handle.update('IN_PROGRESS', details))) return undefined;
    const origin = job.requestId ? { request_id: job.requestId } : {};
    log.info('Job started', { job: jobId, action: job.action, ...details, ...origin });
    const progress = trackProgress({
      steps,
      clock: deps.clock,
      send: async (now) => void (await handle.update('IN_PROGRESS', now).catch(() => {})),
    });
    try {
      const run = { jobId, execution: identity, job, stop: stopped, onProgress: progress.report };
      const outcome =
        job.action === 'rediscover' ? await rediscover(stopped) : await runSteps(deps, run);
      await checkpoint.finish(jobId, identity, outcome);
      return outcome;
    } catch (error) {
      if (error instanceof JobStopped) return undefined;
      log.error('Job not recorded', { job: jobId, reason: reasonOf(error) });
      const reason = `The agent could not record it: ${reasonOf(error)}.`;
      const isEmpty = await leavesNothing(deps, job);
      return { status: 'FAILED', reason, ...(isEmpty && { left: 'nothing' }) };
    } finally {
      await progress.stop();
    }
  }

  async function rediscover(stopped: AbortSignal): Promise<JobOutcome> {
    const problem = await Promise.race([looks.ask('everything'), rejectsOn(stopped)]);
    return problem === undefined ? { status: 'SUCCEEDED' } : { status: 'FAILED', reason: problem };
  }

  return {
    skew: cloudClock.skew,
    idle: async () => void (await Promise.all([...running.values()].map(({ ended }) => ended))),
    serve: async (session) => {
      let latest: readonly PendingJob[] | undefined;
      let listed: readonly PendingJob[] = [];
      let isTaking = false;
      let opened: JobsChannel | undefined;
      const offer = async (pending: readonly PendingJob[]) => {
        latest = pending;
        listed = pending;
        if (isTaking || opened === undefined) return;
        isTaking = true;
        while (latest && !session.lost.aborted) {
          const taken = latest;
          latest = undefined;
          await takeAll(opened, taken);
        }
        isTaking = false;
      };
      connection = session;
      const judgeHeld = takeWorkMessages(session, { ...deps, cloudClock }, takeMessage);
      try {
        opened = await openJobs(session, { ...deps, onTime: cloudClock.note }, offer);
        channel = opened;
        takeListed = () => void offer(listed);
        while (!session.lost.aborted) {
          const pending = await opened.pending().catch((error: unknown) => {
            session.lost.throwIfAborted();
            log.error('Pending jobs not listed', { reason: reasonOf(error) });
          });
          judgeHeld();
          if (pending) await offer(pending);
          await deps.clock.sleep(askAgainMs, session.lost);
        }
      } catch (error) {
        if (session.lost.aborted) return;
        log.error('Jobs disabled in this session', { reason: reasonOf(error) });
      } finally {
        // The next session may have begun.
        if (channel === opened) channel = undefined;
        if (connection === session) connection = undefined;
      }
    },
  };
}

function writesImage(step: JobStep): boolean {
  return step.kind === 'program' || ('content' in step && 'image' in step.content);
}

function rejectsOn(stopped: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (stopped.aborted) reject(new JobStopped());
    stopped.addEventListener('abort', () => reject(new JobStopped()), { once: true });
  });
}
