// Reads the kernel's log as long as the agent runs, also while it is not connected: the log holds
// some hundred kilobytes only.

import type { Clock } from '#agent/clock.ts';
import type { Config } from '#agent/config/config.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { openConfirmations } from '#agent/state/confirmations.ts';
import type { StateFiles } from '#agent/state/state-files.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { createDeviceFaults, type DeviceFaults } from './device-faults.ts';
import { openFaultRecords } from './fault-records.ts';
import { openKernelLog } from './kernel/kernel-log.ts';

/** A read(2) that finds nothing costs microseconds. */
const everyMs = 2_000;

interface FaultDeps {
  readonly files: StateFiles;
  readonly bootId: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Undefined on a host whose kernel log cannot be read: the drivers alone report health. */
export async function openFaults(
  { kernelLogFile, sysfsRoot }: Config,
  { files, bootId, clock, log }: FaultDeps,
): Promise<DeviceFaults | undefined> {
  if (kernelLogFile === undefined) return undefined;
  try {
    const kernelLog = openKernelLog(kernelLogFile);
    const records = await openFaultRecords(files, bootId, log);
    const sysfs = openSysfs(sysfsRoot);
    // The kernel's times are those of the monotonic clock, as far as a log needs.
    const bootedMs = clock.wallMs() - Number(process.hrtime.bigint() / 1_000_000n);
    const confirmations = openConfirmations(files, log);
    const deps = { kernelLog, records, confirmations, bootedMs, sysfs, clock, log };
    const faults = createDeviceFaults(deps);
    await faults.read();
    return faults;
  } catch (error) {
    log.warn('Kernel log not readable', { file: kernelLogFile, reason: reasonOf(error) });
    return undefined;
  }
}

/** @param changed called when the health of a device has changed */
export async function watchFaults(
  faults: DeviceFaults,
  clock: Clock,
  stop: AbortSignal,
  changed: () => void,
): Promise<void> {
  while (!stop.aborted) {
    if (await faults.read()) changed();
    await clock.sleep(everyMs, stop);
  }
}
