// The commands that look at the host, and set it up, without the agent. They read the agent's
// state, because it says what is offered and what the agent has made, and never write it, but for
// the file of confirmations, which is that of its command.

import { systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import type { Driver } from './drivers/contract/driver.ts';
import { printIdentity } from './guards/card-identities.ts';
import { createLog, type Log } from './log.ts';
import { openHost } from './process/open-host.ts';
import { describeChange, readPlan, setUp } from './process/set-up.ts';
import { runSelfTest } from './self-test/run-self-test.ts';
import { confirmAddress } from './state/confirmations.ts';
import { onlyReading, openStateFiles } from './state/state-files.ts';
import { lockState, StateInUse } from './state/state-lock.ts';
import { readPciFunctionAt } from './sysfs/pci.ts';
import { openSysfs } from './sysfs/root.ts';

export type HostCommand = 'plan' | 'apply' | 'assert' | 'self-test' | 'check' | 'confirm';

/** Changes of one driver may make those of another possible: functions before mdevs on them. */
const roundsMax = 4;
const asWanted = 'The host is as the settings say.';

type Print = (line: string) => void;

interface HostCommandGiven {
  readonly name: HostCommand;
  readonly erase?: string;
  readonly report?: string;
  readonly confirm?: string;
}

/** @returns the exit code */
export async function runHostCommand(
  { name: command, erase, report, confirm: address }: HostCommandGiven,
  config: Config,
  { print, complain }: { readonly print: Print; readonly complain: Print },
): Promise<0 | 1> {
  const log = createLog(atLeastWarnings(config.logLevel), (line) => complain(line.trimEnd()));
  if (command === 'apply' || erase !== undefined) {
    const refusal = await refusalOfLock(config.stateDirectory, log);
    if (refusal !== undefined) {
      complain(refusal);
      return 1;
    }
  }
  if (command === 'self-test' || command === 'check') {
    return await runSelfTest(config, { command, erase, report, say: print, log });
  }
  if (command === 'confirm') {
    return await confirmDevice(config, address ?? '', { print, complain }, log);
  }
  const files = onlyReading(openStateFiles(config.stateDirectory));
  const { drivers } = await openHost(config, { files, clock: systemClock, log });
  return command === 'apply'
    ? await applyAll(drivers, log, print)
    : await compareAll(drivers, command, print);
}

/** May run beside the agent, which reads it before each discovery and with each fault. */
async function confirmDevice(
  { sysfsRoot, stateDirectory }: Config,
  address: string,
  { print, complain }: { readonly print: Print; readonly complain: Print },
  log: Log,
): Promise<0 | 1> {
  const fn = readPciFunctionAt(openSysfs(sysfsRoot), address);
  if (!fn || fn.physicalFunction) {
    complain(
      fn
        ? `Nothing is confirmed: ${address} is a virtual function; confirm its card ${fn.physicalFunction}.`
        : `Nothing is confirmed: ${address} is not on this host.`,
    );
    return 1;
  }
  const at = new Date(systemClock.wallMs()).toISOString();
  const files = openStateFiles(stateDirectory);
  await confirmAddress(files, log, address, { at, identity: printIdentity(fn) });
  const { vendorId, productId, classCode, subsystemId } = fn;
  print(
    `Confirmed: ${address} may be offered as ${vendorId}:${productId} of class ${classCode}, ` +
      `subsystem ${subsystemId}.`,
  );
  return 0;
}

/** Two programs must not change the host at once. */
async function refusalOfLock(directory: string, log: Log): Promise<string | undefined> {
  try {
    if (await lockState(directory, log)) return undefined;
    return `Nothing is changed: ${directory} cannot be locked.`;
  } catch (error) {
    if (!(error instanceof StateInUse)) throw error;
    return (
      `Nothing is changed: an agent runs with ${directory}, and applies its settings itself. ` +
      'Restart it after a change of the settings, or stop it before this command.'
    );
  }
}

async function compareAll(
  drivers: readonly Driver[],
  command: 'plan' | 'assert',
  say: Print,
): Promise<0 | 1> {
  let [differences, faults] = [0, 0];
  for (const driver of drivers) {
    const planned = await readPlan(driver);
    if ('fault' in planned) {
      faults += 1;
      say(planned.fault);
      continue;
    }
    for (const change of planned.changes) {
      differences += 1;
      say(describeChange(change));
    }
  }
  if (differences + faults === 0) say(asWanted);
  return faults > 0 || (command === 'assert' && differences > 0) ? 1 : 0;
}

async function applyAll(drivers: readonly Driver[], log: Log, say: Print): Promise<0 | 1> {
  let left: readonly string[] = [];
  let count = 0;
  for (let round = 1; round <= roundsMax; round += 1) {
    const before = count;
    left = [];
    for (const driver of drivers) {
      const end = await setUp(driver, log);
      for (const { what, address, before: from, after } of end.applied) {
        say(`Changed the ${what} of ${address} from ${from} to ${after}.`);
      }
      count += end.applied.length;
      left = [...left, ...end.left];
    }
    if (count === before) break;
  }
  for (const sentence of left) say(`Left: ${sentence}`);
  if (count + left.length === 0) say(asWanted);
  return left.length > 0 ? 1 : 0;
}

/** What was changed is printed, and need not be logged. */
function atLeastWarnings(level: Config['logLevel']): Config['logLevel'] {
  return level === 'error' ? level : 'warn';
}
