// Runs the steps of a job, each once in effect: a step compares its target with the current state
// before it touches a device, so that an interrupted or already finished step can be repeated. A
// region is the exception: it is always written, because the content after an interrupted write
// cannot be read.

import type { ReportedDevice } from '#core/contracts/inventory-report.ts';
import type {
  CheckRegionStep,
  CreateMdevStep,
  JobStep,
  ProgramStep,
  RemoveMdevStep,
} from '#core/contracts/job-document.ts';
import {
  type Checkpoint,
  type Intent,
  isMadeLater,
  type JobOutcome,
  type StepResult,
} from './checkpoint.ts';
import type { Downloads } from './download.ts';
import { type MakesMdevs, programs } from './drivers/driver.ts';
import { ImageRefused } from './image-check.ts';
import { reasonOf } from './log.ts';
import type { Job } from './read-job.ts';
import {
  areAbsent,
  holderOf,
  isThere,
  type LookDeps,
  leavesNothing,
  mdevMaker,
  StepFailed,
  StepRefused,
} from './step-looks.ts';

export interface StepsDeps extends LookDeps {
  readonly checkpoint: Checkpoint;
  readonly downloads: Downloads;
  /** Rejects an image that is not for the region's interface. */
  readonly checkImage: (path: string, interfaceUuid: string) => Promise<unknown>;
}

export interface Run {
  readonly jobId: string;
  readonly execution: string;
  readonly job: Job;
  /** Checked between steps, and while a step has not touched the device. */
  readonly stop: AbortSignal;
  readonly onProgress: (step: number, percent: number) => void;
}

/** The job was stopped at a safe point: finished steps stay done and are recorded. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped';
}

/** From the first step without a recorded result. @throws JobStopped */
export async function runSteps(deps: StepsDeps, run: Run): Promise<JobOutcome> {
  const { job, jobId, execution, stop } = run;
  const { action, bindId } = job;
  const ended = endedBy(job);
  if (ended.length > 0) await deps.checkpoint.release(ended);
  if (bindId !== undefined && action === 'prepare' && deps.checkpoint.isReleased(bindId)) {
    return { status: 'REJECTED', reason: bindReleased };
  }
  const results = [...(deps.checkpoint.job(jobId, execution)?.results ?? [])];
  for (const [index, step] of [...job.steps.entries()].slice(results.length)) {
    if (results.some(isFailed) && !goesOn(job)) break;
    if (stop.aborted) throw new JobStopped();
    run.onProgress(index + 1, 0);
    const result = await runStep(deps, run, step, index + 1);
    results.push(result);
  }
  const outcome = outcomeOf(job, results);
  const isEmpty = outcome.status === 'FAILED' && (await leavesNothing(deps, job));
  return isEmpty ? { ...outcome, left: 'nothing' } : outcome;
}

const bindReleased = 'The bind has been released already.';

/** The bind that a release ends, or the parts of it. */
function endedBy({ action, bindId, steps }: Job): string[] {
  if (action !== 'release') return [];
  return bindId !== undefined ? [bindId] : steps.flatMap((step) => partOfBind(step) ?? []);
}

/** The part of its bind that a step makes ready or cleans up. */
function partOfBind(step: JobStep): string | undefined {
  if (step.bind_id === undefined) return undefined;
  if ('uuid' in step) return `${step.bind_id} ${step.uuid}`;
  return step.region && `${step.bind_id} ${step.address} ${step.region}`;
}

/** Whether the job continues after a failed step, as a release and a reprovision do. */
function goesOn({ action }: Job): boolean {
  return action === 'release' || action === 'reprovision';
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
    : doStep({ ...deps, ...run }, step, number);
  const result = await doing.then(
    (): StepResult => ({}),
    (error: unknown): StepResult => {
      if (error instanceof JobStopped) throw error;
      const isRefused = error instanceof StepRefused || error instanceof ImageRefused;
      return { failed: reasonOf(error), ...(isRefused && { fault: 'request' }) };
    },
  );
  const fields = { job: jobId, ...intentOf(step), ...result };
  if (result.failed === undefined) deps.log.info('Job step done', fields);
  else deps.log.warn('Job step failed', fields);
  const isUnmade = result.failed !== undefined && (await areAbsent(deps, [step]));
  await deps.checkpoint.record(jobId, execution, result, isUnmade ? 'absent' : undefined);
  return result;
}

function isEnded(checkpoint: Checkpoint, step: JobStep): boolean {
  const ended = [step.bind_id, partOfBind(step)];
  return ended.some((each) => each !== undefined && checkpoint.isReleased(each));
}

type Context = StepsDeps & Run;

function doStep(context: Context, step: JobStep, number: number): Promise<void> {
  switch (step.kind) {
    case 'program':
      return program(context, step, number);
    case 'check-region':
      return checkRegion(context, step);
    case 'create-mdev':
      return createMdev(context, step);
    case 'remove-mdev':
      return removeMdev(context, step);
    case 'settle':
      // The job has already waited for the device; the step needs nothing more.
      return Promise.resolve();
  }
}

async function checkRegion(context: Context, step: CheckRegionStep): Promise<void> {
  const { device } = await holderOf(context, step.address);
  const region = device.regions.find(({ name }) => name === step.region);
  if (!region) throw new StepFailed(`The device has no region ${step.region}.`);
  const expected = step.bitstream_id ?? step.function_id;
  const held = step.bitstream_id ? region['bitstream-id'] : region['function-uuid'];
  if (!expected || held?.toLowerCase() !== expected.toLowerCase()) {
    throw new StepRefused(`Region ${step.region} holds ${held ?? 'nothing'}, not ${expected}.`);
  }
}

async function program(context: Context, step: ProgramStep, number: number): Promise<void> {
  const { downloads, checkImage, stop, onProgress } = context;
  const { driver, device } = await holderOf(context, step.address);
  if (!programs(driver)) throw new StepFailed(`Driver ${driver.name} does not program.`);
  const interfaceUuid = interfaceOf(device, step);
  const work = { address: step.address, region: step.region, imageId: step.image.id };
  let isTouched = false;
  try {
    await downloads.withImage(step.image, stop, async (imagePath) => {
      await checkImage(imagePath, interfaceUuid);
      if (stop.aborted) throw new JobStopped();
      await claim(context, step);
      isTouched = true;
      await driver.program({ ...work, imagePath }, (percent) => onProgress(number, percent));
    });
  } catch (error) {
    // An aborted download is not a failure of the job.
    throw stop.aborted && !isTouched ? new JobStopped() : error;
  }
}

/** @throws StepFailed if the region's interface is unknown or contradicts the request */
function interfaceOf(device: ReportedDevice, step: ProgramStep): string {
  const region = device.regions.find(({ name }) => name === step.region);
  if (!region) throw new StepFailed(`The device has no region ${step.region}.`);
  const own = region['region-type-uuid'] ?? step.region_type_uuid;
  const asked = step.region_type_uuid ?? own;
  if (!own || !asked)
    throw new StepRefused('The interface of the region is unknown, so no image can be checked.');
  if (own.toLowerCase() !== asked.toLowerCase()) {
    throw new StepRefused(`The region has interface ${own}, not ${asked}.`);
  }
  return own;
}

async function createMdev(context: Context, step: CreateMdevStep): Promise<void> {
  const driver = await mdevMaker(context, step.address);
  const { address, type, uuid } = step;
  await removeOthers(context, driver, step);
  await claim(context, step);
  if (await isThere(driver, step)) return;
  try {
    await driver.createMdev({ address, type, uuid });
  } catch (error) {
    // Error codes differ between drivers; only the list of mdevs shows whether the mdev exists.
    if (!(await isThere(driver, step))) throw error;
  }
}

/**
 * Removes an mdev that was created for an earlier claim of its handle, because it holds data of
 * that claim's tenant. Its mark names the claim by the handle's epoch. An mdev without a mark was
 * not created by this agent: it is neither removed nor given to the claim. Only after a boot, or
 * after the agent was replaced, can it belong to the same claim: that job reprovisions what its
 * instance has.
 *
 * @throws StepFailed if an mdev without a mark has the uuid
 */
async function removeOthers(context: Context, driver: MakesMdevs, step: CreateMdevStep) {
  const mark = context.checkpoint.mdev(step.uuid);
  const isSame = mark ? mark.epoch === step.epoch : context.job.action === 'reprovision';
  if (step.epoch === undefined || isSame) return;
  if (!(await isThere(driver, step))) return;
  if (!mark)
    throw new StepFailed(`The mdev ${step.uuid} exists, and was not created by this agent.`);
  await claim(context, { ...step, kind: 'remove-mdev' });
  const { address, type, uuid } = step;
  await driver.removeMdev({ address, type, uuid });
  context.log.warn('Mdev of an earlier bind removed', { uuid, address });
}

async function removeMdev(context: Context, step: RemoveMdevStep): Promise<void> {
  const driver = await mdevMaker(context, step.address);
  await claim(context, step);
  const find = async () => (await driver.listMdevs()).find(({ uuid }) => uuid === step.uuid);
  const found = await find();
  if (!found) return;
  const mark = context.checkpoint.mdev(step.uuid);
  const isOurs = mark?.type === found.type && mark.address === found.address;
  if (!isOurs) throw new StepFailed(`The mdev ${step.uuid} was not created by this agent.`);
  if (isMadeLater(mark, step.epoch)) return;
  if (found.type !== step.type || found.address !== step.address) {
    throw new StepFailed(`The mdev ${step.uuid} has type ${found.type} on ${found.address}.`);
  }
  try {
    await driver.removeMdev(found);
  } catch (error) {
    if (await find()) throw error;
  }
}

function claim({ checkpoint, jobId, execution }: Context, step: JobStep): Promise<void> {
  return checkpoint.claim(jobId, execution, intentOf(step));
}

function intentOf(step: JobStep): Intent {
  if (step.kind !== 'program') {
    return Object.fromEntries(
      Object.entries(step).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)]],
      ),
    );
  }
  const { kind, address, region, image } = step;
  return { kind, address, region, image: image.id, sha256: image.sha256 };
}

function isFailed({ failed }: StepResult): boolean {
  return failed !== undefined;
}

function outcomeOf({ steps }: Job, results: readonly StepResult[]): JobOutcome {
  const reasons = results.flatMap(({ failed }, index) =>
    failed === undefined ? [] : [`Step ${index + 1}/${steps.length}: ${failed}`],
  );
  if (reasons.length === 0) return { status: 'SUCCEEDED' };
  const isRefused = results.filter(isFailed).every(({ fault }) => fault === 'request');
  return {
    status: 'FAILED',
    reason: reasons.join(' '),
    ...(isRefused && { fault: 'request' }),
  };
}
