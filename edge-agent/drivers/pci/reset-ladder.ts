// Resets a PCI function after a guest by one rung after the other, until one brings it back as it
// was. Linux, Documentation/ABI/testing/sysfs-bus-pci: reset, reset_method,
// reset_subordinate, remove, rescan.
//
// INVARIANTS
// - A rung counts only if the function shows the same identity and link afterwards, and what its
//   driver knows of its state.
// - A bus is reset only if each of its functions is the agent's and free.

import type { Guards } from '#agent/guards/guards.ts';
import { findParents } from '#agent/guards/owner.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { reasonOf } from '#agent/log.ts';
import { cardIds, type PciFunction, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import { faultAfterReset, type ResetRung, readState, toEvidence } from './reset.ts';
import { bindFunction } from './setup.ts';

/** The kernel waits up to 60 s for a function that does not answer after its reset. */
const resetMs = 90_000;

export interface LadderDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
  readonly guards: Guards;
  /** Those that the settings allow, in the order in which they are tried. */
  readonly rungs: readonly ResetRung[];
  /** Why another function of the bus must not be reset now. */
  readonly refusalOf: (fn: PciFunction) => Promise<string | undefined>;
  /** Keeps discoveries waiting while the function is not on the bus. */
  readonly whileAway: <T>(work: () => Promise<T>) => Promise<T>;
  /** What the driver knows of the function's state. @throws if that is not as it should be */
  readonly verify?: ((fn: PciFunction) => Promise<Evidence>) | undefined;
}

interface Attempt {
  readonly rung: ResetRung;
  /** The kernel's name of it. */
  readonly method: string;
  readonly run: () => Promise<void>;
}

/**
 * @returns the method that worked, and what was read after it
 * @throws the error of the last attempt, or why no rung can be tried
 */
export async function resetByLadder(deps: LadderDeps, fn: PciFunction): Promise<Evidence> {
  const before = await readState(deps.hardware, fn);
  const failures: string[] = [];
  let last: unknown;
  for (const rung of deps.rungs) {
    const attempts = await attemptsOf(deps, fn, rung);
    if (typeof attempts === 'string') failures.push(`${rung}: ${attempts}`);
    for (const attempt of typeof attempts === 'string' ? [] : attempts) {
      try {
        await attempt.run();
        return await verified(deps, fn, before, attempt);
      } catch (error) {
        last = error;
        failures.push(`${attempt.method}: ${reasonOf(error)}`);
      }
    }
  }
  const tried = failures.join('; ');
  if (last instanceof Error && failures.length === 1) throw last;
  throw new Error(`The function ${fn.address} could not be reset: ${tried}.`, { cause: last });
}

async function verified(
  { sysfs, hardware, verify }: LadderDeps,
  fn: PciFunction,
  before: Awaited<ReturnType<typeof readState>>,
  { rung, method }: Attempt,
): Promise<Evidence> {
  const now = readPciFunctionAt(sysfs, fn.address) ?? fn;
  const after = await readState(hardware, now);
  const isVirtual = fn.physicalFunction !== undefined;
  const fault = faultAfterReset(before, after, { isVirtual, isRescanned: rung === 'rescan' });
  if (fault) throw new Error(`The function ${fn.address} was reset, and ${fault}.`);
  const named = { cleaned_by: 'reset', reset_method: method, reset_rung: rung };
  return { ...named, ...toEvidence(after), ...(await verify?.(now)) };
}

/** Those of one rung, or a clause why it cannot be tried. */
async function attemptsOf(
  deps: LadderDeps,
  fn: PciFunction,
  rung: ResetRung,
): Promise<readonly Attempt[] | string> {
  if (rung === 'function') return functionAttempts(deps, fn);
  if (fn.physicalFunction !== undefined) return 'it is a virtual function';
  return rung === 'bus' ? await busAttempts(deps, fn) : rescanAttempts(deps, fn);
}

const isOfBus = (method: string) => ['bus', 'cxl_bus'].includes(method);

/** Undefined before Linux 5.15. */
function methodsOf(sysfs: Sysfs, { path }: PciFunction): readonly string[] | undefined {
  return sysfs
    .readAttribute(`${path}/reset_method`)
    ?.split(/\s+/)
    .filter((each) => each !== '');
}

function functionAttempts(deps: LadderDeps, fn: PciFunction): readonly Attempt[] | string {
  const methods = methodsOf(deps.sysfs, fn);
  const own = methods?.filter((each) => !isOfBus(each)) ?? ['unnamed'];
  if (own.length === 0) return 'the kernel knows none';
  return own.map((method) => ({
    rung: 'function',
    method,
    run: () => resetBy(deps, fn, method),
  }));
}

async function busAttempts(
  deps: LadderDeps,
  fn: PciFunction,
): Promise<readonly Attempt[] | string> {
  const { sysfs, hardware, refusalOf } = deps;
  // The kernel has this method only for a function that is alone on its bus.
  const own = methodsOf(sysfs, fn)?.filter(isOfBus) ?? [];
  const attempts = own.map(
    (method): Attempt => ({ rung: 'bus', method, run: () => resetBy(deps, fn, method) }),
  );
  const port = findParents(sysfs, fn.path).at(-1);
  const file = `bus/pci/devices/${port}/reset_subordinate`;
  if (port === undefined || sysfs.readAttribute(file) === undefined) {
    return attempts.length > 0 ? attempts : 'the kernel cannot reset its bus alone';
  }
  for (const mate of functionsBelow(sysfs, port)) {
    const refusal = mate.address === fn.address ? undefined : await refusalOf(mate);
    if (refusal !== undefined) {
      return attempts.length > 0 ? attempts : `${mate.address} of its bus ${refusal}`;
    }
  }
  const run = () => hardware.writeText(fn.address, file, '1', resetMs);
  return [...attempts, { rung: 'bus', method: 'reset_subordinate', run }];
}

function functionsBelow(sysfs: Sysfs, port: string): PciFunction[] {
  const devices = 'bus/pci/devices';
  const names = sysfs.list(devices) ?? [];
  return names
    .filter((name) => findParents(sysfs, `${devices}/${name}`).includes(port))
    .flatMap((name) => readPciFunctionAt(sysfs, name) ?? []);
}

function rescanAttempts(deps: LadderDeps, fn: PciFunction): readonly Attempt[] | string {
  const { sysfs, hardware, whileAway } = deps;
  const { address, path, boundDriver = '' } = fn;
  // Otherwise the host's driver would have the function afterwards.
  if (!boundDriver.includes('vfio')) return 'it is not bound to a VFIO driver';
  if (!sysfs.list(path)?.includes('remove') || !sysfs.list('bus/pci')?.includes('rescan')) {
    return 'the kernel has no hotplug';
  }
  const run = () =>
    whileAway(async () => {
      await hardware.writeText(address, `${path}/remove`, '1', resetMs);
      await hardware.writeText(address, 'bus/pci/rescan', '1', resetMs);
      const now = readPciFunctionAt(sysfs, address);
      if (!now) throw new Error('it did not come back');
      if (cardIds(now) !== cardIds(fn)) throw new Error('another card came back');
      await bindFunction(deps, address, boundDriver);
    });
  return [{ rung: 'rescan', method: 'rescan', run }];
}

/** Enables one method alone, so that the evidence names what worked, and then those before. */
async function resetBy(deps: LadderDeps, fn: PciFunction, method: string): Promise<void> {
  const { sysfs, hardware } = deps;
  const { address, path } = fn;
  const file = `${path}/reset_method`;
  const enabled = sysfs.readAttribute(file)?.trim();
  const isChosen = enabled !== undefined && enabled !== method;
  if (isChosen) await hardware.writeText(address, file, method);
  try {
    await hardware.writeText(address, `${path}/reset`, '1', resetMs);
  } finally {
    if (isChosen) await hardware.writeText(address, file, enabled);
  }
}
