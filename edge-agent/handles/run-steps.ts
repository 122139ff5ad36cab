// Runs the steps of a job, each once in effect: a step compares its target with the current state
// before it touches a device, so that an interrupted or already finished step can be repeated. A
// region is the exception: it is always written, because the content after an interrupted write
// cannot be read.

import type { Job } from '#agent/broker/read-job.ts';
import type { Gates } from '#agent/gates/gates.ts';
import type { Downloads } from '#agent/images/download.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { reasonOf } from '#agent/log.ts';
import type { Checkpoint, Intent } from '#agent/state/checkpoint.ts';
import type { ClaimedMark, JobOutcome, StepResult } from '#agent/state/checkpoint-state.ts';
import type { ComponentRecords } from '#agent/state/component-records.ts';
import type { Evidence, JobStep, StepHandle } from '#core/contracts/jobs/job-document.ts';
import { cleanHandle } from './clean-handle.ts';
import type { Attempt, FailedPreparations } from './failed-preparations.ts';
import { areAbsent, type FindDeps, StepRefused } from './find-device.ts';
import { prepareHandle } from './prepare-handle.ts';
import { JobStopped, prepareRegion } from './prepare-region.ts';
import { programComponent } from './program-component.ts';

export interface StepsDeps extends FindDeps {
  readonly checkpoint: Checkpoint;
  readonly components: ComponentRecords;
  readonly downloads: Downloads;
  /** Without it no gate follows a cleaning. */
  readonly gates?: Gates;
  /** Without it no failure is counted. */
  readonly failures?: Pick<FailedPreparations, 'attemptAt'>;
}

interface Run {
  readonly jobId: string;
  readonly execution: string;
  readonly job: Job;
  /** Checked between steps, and while a step has not touched the device. */
  readonly stop: AbortSignal;
  readonly onProgress: (step: number, percent: number) => void;
}

/** Each step without a recorded result. @throws JobStopped */
export async function runSteps(deps: StepsDeps, run: Run): Promise<JobOutcome> {
  const { job, jobId, execution, stop } = run;
  const { action, bindId } = job;
  const ended = endedBy(job);
  const handles = action === 'release' ? job.steps.flatMap((step) => stepHandle(step) ?? []) : [];
  if (ended.length + handles.length > 0) await deps.checkpoint.release(ended, handles);
  if (bindId !== undefined && action === 'prepare' && deps.checkpoint.isReleased(bindId)) {
    return { status: 'REJECTED', reason: bindReleased };
  }
  const recorded = deps.checkpoint.job(jobId, execution)?.results ?? [];
  const results: StepResult[] = [];
  for (const [index, step] of job.steps.entries()) {
    if (results.some(isFailed) && !goesOn(job)) break;
    const result = recorded.find((each) => each.step === nameStep(step));
    if (result) {
      results.push(result);
      continue;
    }
    if (stop.aborted) throw new JobStopped();
    run.onProgress(index + 1, 0);
    results.push(await runStep(deps, run, step, index + 1));
  }
  const outcome = toOutcome(job, results);
  const isEmpty = outcome.status === 'FAILED' && (await leavesNothing(deps, job));
  return isEmpty ? { ...outcome, left: 'nothing' } : outcome;
}

const bindReleased = 'The bind has been released already.';

/** The bind that a release ends, or the parts of it. */
function endedBy({ action, bindId, steps }: Job): string[] {
  if (action !== 'release') return [];
  return bindId !== undefined ? [bindId] : steps.flatMap(partsOfBind);
}

/** The parts of its bind that a step makes ready or cleans up. */
function partsOfBind(step: JobStep): string[] {
  if (step.bind_id === undefined) return [];
  const uuid = stepHandle(step)?.uuid;
  const handle = uuid ? [`${step.bind_id} ${uuid}`] : [];
  const hasRegion = 'region' in step && step.region !== undefined;
  return hasRegion ? [...handle, `${step.bind_id} ${step.address} ${step.region}`] : handle;
}

function stepHandle(step: JobStep): StepHandle | undefined {
  return 'handle' in step ? step.handle : undefined;
}

/** Whether the job continues after a failed step, as a release and a reprovision do. */
function goesOn({ action }: Job): boolean {
  return action === 'release' || action === 'reprovision';
}

/**
 * Whether the drivers find nothing of what the job prepares. For a region this is unknown: the
 * content after an interrupted write cannot be read.
 */
export async function leavesNothing(deps: StepsDeps, { action, steps }: Job): Promise<boolean> {
  return (action === 'prepare' || action === 'reprovision') && (await areAbsent(deps, steps));
}

async function runStep(
  deps: StepsDeps,
  run: Run,
  step: JobStep,
  number: number,
): Promise<StepResult> {
  const { jobId, execution, job } = run;
  const isLate = job.action !== 'release' && isEnded(deps.checkpoint, step);
  const doing = isLate
    ? Promise.reject(new StepRefused(bindReleased))
    : doStep(deps, run, step, number);
  const result = await doing.catch((error: unknown): StepResult => {
    if (error instanceof JobStopped) throw error;
    const isRefused = error instanceof StepRefused || error instanceof ImageRefused;
    return { failed: reasonOf(error), ...(isRefused && { fault: 'request' }) };
  });
  const fields = { job: jobId, ...toIntent(step, step.kind), ...result };
  if (result.failed === undefined) deps.log.info('Job step done', fields);
  else deps.log.warn('Job step failed', fields);
  const isUnmade = result.failed !== undefined && (await areAbsent(deps, [step]));
  const named = { ...result, step: nameStep(step) };
  await deps.checkpoint.record(jobId, execution, named, isUnmade ? 'absent' : undefined);
  return result;
}

function isEnded(checkpoint: Checkpoint, step: JobStep): boolean {
  const { bind_id: bindId } = step;
  const handle = stepHandle(step);
  // The host may never have been asked for the release of the bind: a later one went before it.
  if (handle && checkpoint.isClaimOver(handle)) return true;
  return bindId !== undefined && [bindId, ...partsOfBind(step)].some(checkpoint.isReleased);
}

const uncounted: Attempt = (work) => work();

async function doStep(
  deps: StepsDeps,
  { jobId, execution, job, stop, onProgress }: Run,
  step: JobStep,
  number: number,
): Promise<StepResult> {
  const { address, bind_id: bindId } = step;
  const attempt = bindId === undefined ? undefined : deps.failures?.attemptAt(address, bindId);
  const context = {
    ...deps,
    job,
    stop,
    onProgress: (percent: number) => onProgress(number, percent),
    attempt: attempt ?? uncounted,
    claim: (kind: JobStep['kind'], mark?: ClaimedMark) =>
      deps.checkpoint.claim(jobId, execution, toIntent(step, kind), mark),
  };
  if (step.kind === 'clean') {
    const evidence = await cleanHandle(context, step);
    return evidence ? { evidence } : {};
  }
  if (step.kind === 'program') return await programComponent(context, step);
  if ('handle' in step) {
    const { info } = await prepareHandle(context, step);
    return info ? { info: { ...info } } : {};
  }
  await prepareRegion(context, step);
  return {};
}

/** Whether each step of the job has a recorded result. */
export function isDone({ steps }: Job, results: readonly { readonly step: string }[]): boolean {
  return steps.every((step) => results.some((each) => each.step === nameStep(step)));
}

/** The same for each attempt: what the step does, to what, and for which claim. */
function nameStep(step: JobStep): string {
  return Object.values(toIntent(step, step.kind)).join(' ');
}

/** Without the image's URL, which is a secret. */
function toIntent(step: JobStep, kind: JobStep['kind']): Intent {
  const { driver, address, bind_id: bindId } = step;
  const common = { kind, address, driver, ...(bindId && { bind_id: bindId }) };
  if (step.kind === 'program') {
    const { component, image } = step;
    return { ...common, component, image: image.id, sha256: image.sha256 };
  }
  const handle = stepHandle(step);
  if (handle) return { ...common, uuid: handle.uuid, epoch: String(handle.epoch) };
  if (!('content' in step)) return common;
  const { region, content } = step;
  const image = 'image' in content ? { image: content.image.id, sha256: content.image.sha256 } : {};
  return { ...common, region, ...image };
}

function isFailed({ failed }: StepResult): boolean {
  return failed !== undefined;
}

function toOutcome({ steps }: Job, results: readonly StepResult[]): JobOutcome {
  const reasons = results.flatMap(({ failed }, index) =>
    failed === undefined ? [] : [`Step ${index + 1}/${steps.length}: ${failed}`],
  );
  const evidence: Record<string, Evidence> = {};
  const prepared: Record<string, Record<string, string>> = {};
  for (const [index, result] of results.entries()) {
    const step = steps[index];
    const key = step?.kind === 'program' ? step.component : step && stepHandle(step)?.uuid;
    if (!key) continue;
    if (result.evidence) evidence[key] = result.evidence;
    if (result.info) prepared[key] = result.info;
  }
  const details = {
    ...(Object.keys(evidence).length > 0 && { evidence }),
    ...(Object.keys(prepared).length > 0 && { prepared }),
  };
  const awaits = results.find((result) => result.awaits)?.awaits;
  if (reasons.length === 0) {
    return { status: 'SUCCEEDED', ...(awaits && { awaits }), ...details };
  }
  const isRefused = results.filter(isFailed).every(({ fault }) => fault === 'request');
  return {
    status: 'FAILED',
    reason: reasons.join(' '),
    ...(isRefused && { fault: 'request' }),
    ...details,
  };
}
