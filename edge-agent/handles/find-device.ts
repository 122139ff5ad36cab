// How a step of a job finds its device, through the device's own driver.

import type { Clock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { askDriver } from '#agent/report/ask-driver.ts';
import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import type { JobStep } from '#core/contracts/jobs/job-document.ts';
import {
  listHandles,
  listOfferings,
  type ReportedDevice,
} from '#core/contracts/report/inventory-report.ts';

export interface FindDeps {
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

interface FoundDevice {
  readonly driver: Driver;
  readonly device: ReportedDevice;
}

/** The device at the address, by its own driver. @throws StepFailed */
export async function findDevice(
  { drivers, clock, log }: FindDeps,
  { driver: name, address }: Pick<JobStep, 'driver' | 'address'>,
): Promise<FoundDevice> {
  const driver = drivers.find((each) => each.name === name);
  if (!driver) throw new StepFailed(`The agent has no driver ${name}.`);
  const discovery = await askDriver(driver, clock).catch((error: unknown) => {
    log.warn('Driver discovery failed', { driver: name, reason: reasonOf(error) });
  });
  const devices = discovery?.devices ?? {};
  const device = Object.hasOwn(devices, address) ? devices[address] : undefined;
  if (!device) throw new StepFailed(`Driver ${name} finds no device at ${address}.`);
  return { driver, device };
}

/** How the driver describes the handle now; undefined if it no longer has it. */
export function describedHandle(
  device: ReportedDevice,
  { uuid, type, info }: Pick<ReportedHandle, 'type' | 'info'> & { readonly uuid: string },
): ReportedHandle | undefined {
  return listHandles(device).find((each) =>
    each.uuid === undefined
      ? each.type === type && isSame(each.info, info)
      : each.uuid.toLowerCase() === uuid,
  );
}

/** A handle that its driver no longer describes has the class of its device. */
export function classOfHandle(
  device: ReportedDevice,
  handle: Parameters<typeof describedHandle>[1],
): string | undefined {
  const offerings = listOfferings(device);
  const own = offerings.find(
    (offers) => describedHandle({ ...device, offers, regions: [] }, handle) !== undefined,
  );
  return (own ?? offerings[0])?.resource_class;
}

function isSame(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>) {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}

/** Whether the drivers find nothing of what the steps prepare. Unknown for a region. */
export async function areAbsent(
  { drivers, log }: Pick<FindDeps, 'drivers' | 'log'>,
  steps: readonly JobStep[],
): Promise<boolean> {
  const prepared = steps.filter((step) => step.kind === 'prepare');
  if (prepared.length === 0) return false;
  try {
    for (const step of prepared) {
      const driver = drivers.find(({ name }) => name === step.driver);
      if (!('handle' in step) || !driver?.find) return false;
      const discovery = await driver.find({ address: step.address, ...step.handle });
      if (discovery.state !== 'absent') return false;
    }
    return true;
  } catch (error) {
    log.warn('Handles not found', { reason: reasonOf(error) });
    return false;
  }
}
