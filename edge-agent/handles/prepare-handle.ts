// Prepares one attach handle for one holder. The driver makes the object; this file makes sure
// that the object was made for this holder, and not for an earlier one.

import type { Driver, Found, HandleWork, Prepared } from '#agent/drivers/contract/driver.ts';
import type { Checkpoint } from '#agent/state/checkpoint.ts';
import type { ClaimedMark } from '#agent/state/checkpoint-state.ts';
import type { PrepareHandleStep } from '#core/contracts/jobs/job-document.ts';
import type { Attempt } from './failed-preparations.ts';
import { type FindDeps, findDevice, StepFailed, StepRefused } from './find-device.ts';

export interface PrepareContext extends FindDeps {
  readonly checkpoint: Checkpoint;
  readonly job: { readonly action: string };
  /** Records on disk what is about to be done. */
  readonly claim: (kind: 'prepare' | 'clean', mark?: ClaimedMark) => Promise<void>;
  readonly attempt: Attempt;
}

/** @throws StepFailed, or the driver's error */
export async function prepareHandle(
  context: PrepareContext,
  step: PrepareHandleStep,
): Promise<Prepared> {
  const { driver } = await findDevice(context, step);
  const work: HandleWork = { address: step.address, ...step.handle };
  const prepare = driver.prepare?.bind(driver);
  if (!prepare) throw new StepFailed(`Driver ${driver.name} prepares no handles.`);
  await removeOthers(context, driver, step, work);
  const { type, info, epoch } = step.handle;
  await context.claim('prepare', { driver: driver.name, address: step.address, type, info, epoch });
  const before = await readyIn(driver, work);
  if (before) return before;
  return await context.attempt(async () => {
    try {
      return await prepare(work);
    } catch (error) {
      // Error codes differ between kernels; only a look shows whether the object exists.
      const after = await readyIn(driver, work);
      if (!after) throw error;
      return after;
    }
  });
}

/**
 * Removes what was made for an earlier claim of the handle, because it holds data of that claim's
 * tenant. Its mark names the claim by the handle's epoch. An object without a mark was not made by
 * this agent: it is neither removed nor given to the claim. Only after a boot, or after the agent
 * was replaced, can it belong to the same claim: that job reprovisions what its instance has.
 *
 * @throws StepRefused if what is there was made for a later claim: the step is late
 * @throws StepFailed if an object without a mark has the uuid
 */
async function removeOthers(
  context: PrepareContext,
  driver: Driver,
  { handle }: PrepareHandleStep,
  work: HandleWork,
): Promise<void> {
  const mark = context.checkpoint.prepared(handle.uuid);
  const isSame = mark ? mark.epoch === handle.epoch : context.job.action === 'reprovision';
  if (isSame || !(await readyIn(driver, work))) return;
  if (!mark) throw notOurs(handle.uuid);
  if (mark.epoch > handle.epoch) throw new StepRefused('A later claim has the handle.');
  if (!driver.clean) throw new StepFailed(`Driver ${driver.name} cleans no handles.`);
  await context.claim('clean');
  await driver.clean(work, () => {});
  context.log.warn('Handle of an earlier bind cleaned', {
    handle: handle.uuid,
    address: work.address,
  });
}

/** @throws StepFailed if another object has the uuid */
async function readyIn(driver: Driver, work: HandleWork): Promise<Prepared | undefined> {
  const object: Found = (await driver.find?.(work)) ?? { state: 'absent' };
  if (object.state === 'other') throw isOther(work.uuid, object.what);
  return object.state === 'ready' ? (object.info ? { info: object.info } : {}) : undefined;
}

/** The handles of a driver that are prepared in this boot, or are about to be. */
export function preparedBy(checkpoint: Checkpoint, driver: string): readonly HandleWork[] {
  const marks = Object.entries(checkpoint.marks()).map(([uuid, mark]) => ({ ...mark, uuid }));
  return marks.filter((mark) => mark.driver === driver);
}

export function notOurs(uuid: string): StepFailed {
  return new StepFailed(`${uuid} exists on the host, and was not made by this agent.`);
}

export function isOther(uuid: string, object: string): StepFailed {
  return new StepFailed(`${uuid} exists on the host as ${object}.`);
}
