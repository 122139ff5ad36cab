// Cleans one attach handle after its holder. The driver erases and verifies, and a gate
// may judge the device; this file makes sure that what a later claim has prepared stays, and that
// the same release cleans once.

import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import type { Gates } from '#agent/gates/gates.ts';
import { isPreparedLater } from '#agent/state/checkpoint-state.ts';
import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import type { CleanStep, Evidence } from '#core/contracts/jobs/job-document.ts';
import { classOfHandle, describedHandle, findDevice } from './find-device.ts';
import { isOther, notOurs, type PrepareContext } from './prepare-handle.ts';

interface CleanContext extends PrepareContext {
  readonly onProgress: (percent: number) => void;
  /** Without it no gate follows. */
  readonly gates?: Gates;
}

/**
 * Has the driver clean the handle, and then its gate judge it. An attempt after a crash begins
 * with the cleaning again.
 *
 * @returns what both have verified; undefined where nothing had to be cleaned
 * @throws StepFailed, GateFailed, or the driver's error
 */
export async function cleanHandle(
  context: CleanContext,
  step: CleanStep,
): Promise<Evidence | undefined> {
  const { driver, device } = await findDevice(context, step);
  const work: HandleWork = { address: step.address, ...step.handle };
  const described = describedHandle(device, step.handle);
  // A handle that the driver no longer describes is cleaned: it may be what a holder left.
  const isCleaned = described === undefined || described.clean_seconds !== undefined;
  const clean = async () =>
    isCleanable(driver) && isCleaned
      ? cleanByDriver(context, driver, work, step.handle.epoch, described)
      : undefined;
  const gate = context.gates?.gateFor(driver.name, classOfHandle(device, step.handle));
  if (!context.gates || !gate) return clean();
  const { checkpoint, claim, gates } = context;
  const { uuid, epoch } = step.handle;
  const cleaned = checkpoint.cleaned(uuid);
  if (cleaned && cleaned.epoch >= epoch) return cleaned.evidence;
  // The step is late, and a later holder has the device.
  if (isPreparedLater(checkpoint.prepared(uuid), epoch)) return clean();
  await claim('clean');
  const evidence = await clean();
  return { ...evidence, ...(await gates.pass(gate, device, work)) };
}

type Clean = Required<Pick<Driver, 'clean'>>;

function isCleanable(driver: Driver): driver is Driver & Clean {
  return driver.clean !== undefined;
}

async function cleanByDriver(
  context: CleanContext,
  driver: Driver,
  work: HandleWork,
  epoch: number,
  described: ReportedHandle | undefined,
): Promise<Evidence | undefined> {
  // What the agent has made ahead of any bind has no mark; its handle is cleaned like hardware.
  const isHardware =
    !driver.find ||
    described?.prepare === 'ahead' ||
    (await driver.find(work)).state === 'hardware';
  return !isHardware
    ? cleanObject(context, driver, work, epoch)
    : cleanHardware(context, driver, work, epoch);
}

/** Removes what this agent has made under the handle's uuid. */
async function cleanObject(
  { checkpoint, claim, onProgress }: CleanContext,
  driver: Driver,
  work: HandleWork,
  epoch: number,
): Promise<Evidence | undefined> {
  await claim('clean');
  const object = await driver.find?.(work);
  if (!object || object.state === 'absent' || object.state === 'hardware') return undefined;
  const mark = checkpoint.prepared(work.uuid);
  if (!mark) throw notOurs(work.uuid);
  if (isPreparedLater(mark, epoch)) return undefined;
  if (object.state === 'other') throw isOther(work.uuid, object.what);
  try {
    return await (driver as Clean).clean(work, onProgress);
  } catch (error) {
    const left = await driver.find?.(work);
    if (left?.state !== 'absent') throw error;
    return undefined;
  }
}

/**
 * Cleans hardware once for each release. A late repetition must not touch it again: the next
 * holder may have it by then, and no job names a holder for whom nothing is prepared.
 */
async function cleanHardware(
  { checkpoint, claim, onProgress }: CleanContext,
  driver: Driver,
  work: HandleWork,
  epoch: number,
): Promise<Evidence> {
  const cleaned = checkpoint.cleaned(work.uuid);
  if (cleaned && cleaned.epoch >= epoch) return cleaned.evidence;
  await claim('clean');
  return (driver as Clean).clean(work, onProgress);
}
