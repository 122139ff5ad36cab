// How a step of a job reads the devices before and after it touches them.

import type { JobStep } from '#core/contracts/job-document.ts';
import { askDriver } from './ask-driver.ts';
import type { Clock } from './clock.ts';
import { type Driver, type MakesMdevs, type Mdev, makesMdevs } from './drivers/driver.ts';
import { type Log, reasonOf } from './log.ts';
import type { Job } from './read-job.ts';

export interface LookDeps {
  /** The first driver that finds an address has it, as in reports. */
  readonly drivers: readonly Driver[];
  readonly clock: Clock;
  readonly log: Log;
}

/** A step cannot be done; the message is the reason in the job's answer. */
export class StepFailed extends Error {
  override readonly name: string = 'StepFailed';
}

/** The step cannot be done as requested on any host with such a device. */
export class StepRefused extends StepFailed {
  override readonly name = 'StepRefused';
}

/** The driver that finds a device at the address. @throws StepFailed */
export async function holderOf({ drivers, clock, log }: LookDeps, address: string) {
  for (const driver of drivers) {
    const devices = await askDriver(driver, clock).catch((error: unknown) => {
      log.warn('Driver discovery failed', { driver: driver.name, reason: reasonOf(error) });
    });
    const device = devices && Object.hasOwn(devices, address) ? devices[address] : undefined;
    if (device) return { driver, device };
  }
  throw new StepFailed(`No driver finds a device at ${address}.`);
}

/** @throws StepFailed */
export async function mdevMaker(deps: LookDeps, address: string): Promise<MakesMdevs> {
  const { driver } = await holderOf(deps, address);
  if (!makesMdevs(driver)) throw new StepFailed(`Driver ${driver.name} does not support mdevs.`);
  return driver;
}

/** @throws StepFailed if another device or type has the uuid */
export async function isThere(driver: MakesMdevs, { address, type, uuid }: Mdev): Promise<boolean> {
  const found = (await driver.listMdevs()).find((mdev) => mdev.uuid === uuid);
  if (found && (found.type !== type || found.address !== address)) {
    throw new StepFailed(
      `The mdev ${uuid} exists, but with type ${found.type} on ${found.address}.`,
    );
  }
  return found !== undefined;
}

/**
 * Whether the driver's list shows that nothing of the job's target exists. For a region this is
 * unknown: the content after an interrupted write cannot be read.
 */
export async function leavesNothing(deps: LookDeps, { action, steps }: Job): Promise<boolean> {
  const makes = action === 'prepare' || action === 'reprovision';
  return makes && !steps.some(({ kind }) => kind === 'program') && (await areAbsent(deps, steps));
}

/** Whether the driver's list shows that none of the mdevs of the steps exists. */
export async function areAbsent(
  { drivers, log }: LookDeps,
  steps: readonly JobStep[],
): Promise<boolean> {
  const made = steps.flatMap((step) => (step.kind === 'create-mdev' ? [step.uuid] : []));
  if (made.length === 0) return false;
  try {
    for (const driver of drivers.filter(makesMdevs)) {
      if ((await driver.listMdevs()).some(({ uuid }) => made.includes(uuid))) return false;
    }
    return true;
  } catch (error) {
    log.warn('Mdevs not listed', { reason: reasonOf(error) });
    return false;
  }
}
