// What an NVMe controller says of its own health: Critical Warning, byte 0 of the log SMART /
// Health Information (NVM Express Base Specification 1.4, 5.14.1.2). Only the kernel's driver
// `nvme` takes the question, so what was read last counts while a server has the device.

import { reasonOf } from '#agent/log.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { NvmeDeps } from './access.ts';
import { type ControllerFacts, onlyFor, shownControllers } from './controllers.ts';
import { readCriticalWarning } from './tool.ts';

interface Warning {
  readonly bit: number;
  readonly isFatal: boolean;
  /** A clause that completes "The device at <address> ...". */
  readonly meaning: string;
}

/** Fatal ones first: the first bit that is set is shown. */
const warnings: readonly Warning[] = [
  { bit: 0x08, isFatal: true, meaning: 'has a medium that is read-only' },
  { bit: 0x04, isFatal: true, meaning: 'has lost reliability by errors of its medium' },
  { bit: 0x10, isFatal: true, meaning: 'has a volatile memory whose backup has failed' },
  { bit: 0x20, isFatal: false, meaning: 'has a persistent memory region that is unreliable' },
  { bit: 0x01, isFatal: false, meaning: 'has less spare capacity than its threshold' },
  { bit: 0x02, isFatal: false, meaning: 'has a temperature beyond its threshold' },
];
const replace =
  'Evacuate its server and replace the device. After a repair have it read again: cyborg-ops devices reset DEVICE.';
const watch = 'It stays offered. Replace it if the warning outlasts its next cleaning.';

/** Pure. A bit that no row has is of a later specification. */
export function smartHealth(smart: ControllerFacts['smart']): ReportedDevice['health'] {
  const worst = warnings.find(({ bit }) => ((smart?.warning ?? 0) & bit) !== 0);
  if (!smart || !worst) return undefined;
  return {
    state: worst.isFatal ? 'unhealthy' : 'degraded',
    reason: `${worst.meaning}, by its SMART log`,
    since: smart.since,
    next_step: worst.isFatal ? replace : watch,
  };
}

/** Discovery must end within 30 s, with all devices of a host. */
const askMs = 5_000;

export interface SmartReader {
  (addresses: ReadonlySet<string>): Promise<void>;
  /** Changes with what was read: a device that fails must not wait for the next discovery. */
  signature(): string;
}

/**
 * Keeps what controllers that are on the kernel's driver say now. Never rejects: a log that cannot
 * be read says nothing of the device, and a line of the agent's log says why, once.
 */
export function createSmartReader(deps: NvmeDeps): SmartReader {
  const { settings, context, controllers } = deps;
  const { sysfs, clock, log } = context;
  const said = new Map<string, string>();
  const last = new Map<string, number>();
  const complain = (address: string, error: unknown) => {
    const reason = reasonOf(error);
    if (said.get(address) !== reason) log.warn('SMART log not read', { address, reason });
    said.set(address, reason);
  };
  const read = async (addresses: ReadonlySet<string>) => {
    const warnings = new Map<string, number>();
    const live = shownControllers(sysfs).filter(
      ({ address, state }) => addresses.has(address) && state === 'live',
    );
    const answers = live.map(async ({ address, name: controller }) => {
      const hardware = onlyFor(context, address, controller);
      const tool = { hardware, address, controller, tool: settings.tool, limitMs: askMs };
      try {
        warnings.set(address, await readCriticalWarning(tool));
        said.delete(address);
      } catch (error) {
        complain(address, error);
      }
    });
    await Promise.all(answers);
    for (const [address, warning] of warnings) last.set(address, warning);
    await controllers
      .keepWarnings(warnings, new Date(clock.wallMs()).toISOString())
      .catch((error: unknown) => log.error('SMART logs not kept', { reason: reasonOf(error) }));
  };
  return Object.assign(read, { signature: () => [...last].join() });
}
