// An NVMe device at work: while the agent cleans or programs it, it is on the kernel's driver
// `nvme`, through which nvme-cli reaches it, and on a VFIO driver before and afterwards.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import { type AllowListEntry, matches } from '#agent/drivers/pci/allow-list.ts';
import { bindFunction } from '#agent/drivers/pci/setup.ts';
import { type PciFunction, readPciFunctionAt, readPciFunctions } from '#agent/sysfs/pci.ts';
import {
  type ControllerFacts,
  type KnownControllers,
  onlyFor,
  waitForController,
} from './controllers.ts';
import type { NvmeSettings } from './settings.ts';
import { type Controller, identify, type ToolDeps } from './tool.ts';

export const nvmeName = 'nvme';

export interface NvmeDeps {
  readonly settings: NvmeSettings;
  readonly context: DriverContext;
  readonly allowList: readonly AllowListEntry[];
  readonly controllers: KnownControllers;
  /** Addresses of devices at work. Lost with the agent: the job begins anew. */
  readonly busy: Set<string>;
}

export function allowedFunctions({ context, allowList }: NvmeDeps): PciFunction[] {
  // What cannot be read is reported by discovery.
  const all = readPciFunctions(context.sysfs, () => {});
  return all.filter((fn) => isAllowed(allowList, fn));
}

/** Reads one function: a host may have thousands. Undefined if it is absent or unreadable, too. */
export function allowedFunctionAt(
  { context, allowList }: NvmeDeps,
  address: string,
): PciFunction | undefined {
  try {
    const fn = readPciFunctionAt(context.sysfs, address);
    return fn && isAllowed(allowList, fn) ? fn : undefined;
  } catch {
    return undefined;
  }
}

function isAllowed(allowList: readonly AllowListEntry[], fn: PciFunction): boolean {
  return !fn.physicalFunction && allowList.some((each) => matches(each, fn));
}

/**
 * Two ports of one NVM subsystem have one serial number, and a Sanitize by one of them erases what
 * the holder of the other one has.
 */
export function findTwins(
  facts: ReadonlyMap<string, ControllerFacts>,
): ReadonlyMap<string, string> {
  const bySerial = Map.groupBy(facts, ([, { serial }]) => serial);
  const twins = new Map<string, string>();
  for (const same of bySerial.values()) {
    for (const [address] of same) {
      const other = same.find((each) => each[0] !== address)?.[0];
      if (other) twins.set(address, `has the same serial number as ${other}`);
    }
  }
  return twins;
}

export interface AtWork {
  readonly tool: ToolDeps;
  readonly identity: Controller;
  /** What the agent has kept of it; undefined if it has never seen it. */
  readonly expected: ControllerFacts | undefined;
}

/**
 * Has the device on the kernel's driver while it acts, and on the VFIO driver afterwards, also
 * after a failure.
 *
 * @param whileUnbound runs between the two drivers
 * @throws a sentence if the device is gone, in use, or another one than before
 */
export async function withController<T>(
  deps: NvmeDeps,
  address: string,
  act: (at: AtWork) => Promise<T>,
  whileUnbound?: (fn: PciFunction) => Promise<void>,
): Promise<T> {
  deps.busy.add(address);
  try {
    return await onItsDriver(deps, address, act, whileUnbound);
  } finally {
    deps.busy.delete(address);
  }
}

async function onItsDriver<T>(
  deps: NvmeDeps,
  address: string,
  act: (at: AtWork) => Promise<T>,
  whileUnbound?: (fn: PciFunction) => Promise<void>,
): Promise<T> {
  const { settings, context } = deps;
  await checked(deps, address);
  await deps.controllers.remember([]);
  const facts = deps.controllers.factsFor(allowedFunctions(deps));
  const expected = facts.get(address);
  const twin = findTwins(facts).get(address);
  if (twin) throw new Error(`The device at ${address} ${twin}.`);
  let result: T;
  try {
    await bindFunction(context, address, nvmeName, whileUnbound);
    const { name: controller, facts: shown } = await waitForController(context, address);
    // The host may have found a file system or a volume on the device, and have started it.
    await untilFree(deps, address);
    const hardware = onlyFor(context, address, controller);
    const tool = { hardware, address, tool: settings.tool, controller };
    const identity = await identify(tool);
    if (identity.serial !== shown.serial) {
      throw new Error(`The controller at ${address} and the kernel name different serial numbers.`);
    }
    if (expected && expected.serial !== identity.serial) {
      throw new Error(`The device at ${address} is another one than before: its serial number.`);
    }
    result = await act({ tool, identity, expected });
  } catch (error) {
    // The host must not read what a tenant has written; the error is the first one.
    await bindFunction(context, address, settings.bind_to).catch((second: unknown) => {
      context.log.warn('NVMe device left on the driver nvme', { address, error: String(second) });
    });
    throw error;
  }
  await bindFunction(context, address, settings.bind_to);
  return result;
}

/** udev opens each block device that appears, and looks for file systems on it. */
const probeMs = 20_000;
const pollMs = 250;

/** @throws as {@link checked}, if the device is still in use when udev must have read it */
async function untilFree(deps: NvmeDeps, address: string): Promise<void> {
  const { clock } = deps.context;
  const until = clock.monotonicMs() + probeMs;
  for (;;) {
    try {
      return await checked(deps, address);
    } catch (error) {
      if (clock.monotonicMs() >= until) throw error;
      await clock.sleep(pollMs);
    }
  }
}

/** @throws a sentence if the device is gone, in use or no longer on the list */
async function checked({ context, allowList }: NvmeDeps, address: string): Promise<void> {
  const { sysfs, guards } = context;
  const fn = readPciFunctionAt(sysfs, address);
  if (!fn) throw new Error(`The function ${address} is no longer there.`);
  const isOurs = (each: PciFunction) => allowList.some((entry) => matches(entry, each));
  // Another card in its place would lose its data.
  if (!isOurs(fn))
    throw new Error(`The function ${address} is not in the settings of ${nvmeName}.`);
  const refusal = await guards.recheck(address, isOurs);
  if (refusal) throw new Error(`The device at ${address} ${refusal}.`);
}
