// The commands self-test and check: what this host shows, as a check-list. They change nothing of
// the host and nothing of the agent's state, unless self-test is asked to erase one device.

import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#agent/clock.ts';
import type { Config } from '#agent/config/config.ts';
import { openOfferedBefore } from '#agent/guards/offered-before.ts';
import { openStoredIdentity } from '#agent/identity/stored-identity.ts';
import type { Log } from '#agent/log.ts';
import { openHost } from '#agent/process/open-host.ts';
import { onlyReading, openStateFiles, type StateFiles } from '#agent/state/state-files.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { EraseRefused, eraseDevice } from './erase-device.ts';
import { examineConnection } from './examine-connection.ts';
import { examineDomains } from './examine-domains.ts';
import { examineDriver, examineWith, type Line } from './examine-driver.ts';
import { openReport } from './report.ts';

const signs: Readonly<Record<Line['outcome'], string>> = {
  seen: 'seen    ',
  'not seen': 'not seen',
  failed: 'FAILED  ',
};

interface SelfTestGiven {
  /** `check` looks at the connection, too, and leaves out what only a driver knows. */
  readonly command: 'self-test' | 'check';
  /** The device to erase, whose state directory this process has locked. */
  readonly erase?: string | undefined;
  /** The file of the report. */
  readonly report?: string | undefined;
  readonly say: (line: string) => void;
  readonly log: Log;
}

/** @returns the exit code */
export async function runSelfTest(
  config: Config,
  { command, erase, report: file, say: tell, log }: SelfTestGiven,
): Promise<0 | 1> {
  const report = file === undefined ? undefined : await openReport(file, config, systemClock);
  const say = (line: string) => {
    tell(line);
    report?.add(line);
  };
  const counts = { seen: 0, 'not seen': 0, failed: 0 };
  const print = ({ driver, address, outcome, what }: Line) => {
    counts[outcome] += 1;
    say(`${signs[outcome]}  ${address === undefined ? driver : `${driver} ${address}`}: ${what}`);
  };
  const files = openStateFiles(config.stateDirectory);
  const clock = systemClock;
  if (command === 'check') {
    const stored = openStoredIdentity(onlyReading(files), config, log);
    await examineConnection(config, stored, clock.wallMs, print);
    if (config.domains) await examineDomains(config.domains, print);
  }
  if (erase === undefined) {
    await withCopyOfState(config.stateDirectory, async (stateDirectory) => {
      const host = { ...config, stateDirectory };
      const { drivers } = await openHost(host, { files: inMemory(files), clock, log });
      for (const each of drivers) {
        const driver = report?.watch(each) ?? each;
        await examineWith(driver, driver.examineTools, print);
        await examineDriver(driver, clock, print);
        if (command === 'self-test') await examineWith(driver, driver.examine, print);
      }
    });
  } else {
    const address = parsePciAddress(erase);
    const { drivers } = await openHost(config, { files: inMemory(files), clock, log });
    try {
      const mayBeOffered = await offeredEver(files, log);
      await eraseDevice(
        { drivers, mayBeOffered, clock, print },
        address ? printPciAddress(address) : erase,
      );
    } catch (error) {
      if (!(error instanceof EraseRefused)) throw error;
      say(`Nothing is erased: ${error.message}`);
      return 1;
    }
  }
  say(`${counts.seen} seen, ${counts['not seen']} not seen, ${counts.failed} failed`);
  if (file !== undefined) {
    await report?.save();
    tell(`The report is in ${file}: read it before you send it.`);
  }
  return counts.failed > 0 ? 1 : 0;
}

/**
 * The list of offered functions has no names of the kernel: such a device counts as offered once
 * the agent has reported.
 */
async function offeredEver(files: StateFiles, log: Log): Promise<(address: string) => boolean> {
  const keepAside = async (name: string) => {
    throw new EraseRefused(`${name}, the list of offered functions, is not valid.`);
  };
  const offered = await openOfferedBefore({ ...inMemory(files), keepAside }, log);
  const hasReported = (await files.read('sequence.json')) !== undefined;
  return (address) => offered.has(address) || (hasReported && !parsePciAddress(address));
}

/** What is read comes from the disk, what is written stays in memory. */
function inMemory({ read }: StateFiles): StateFiles {
  const written = new Map<string, string>();
  return {
    read: async (name) => written.get(name) ?? (await read(name)),
    replace: async (name, text) => {
      written.set(name, text);
    },
    keepAside: async (name) => name,
  };
}

/** Drivers write into their own folders at a discovery. */
async function withCopyOfState(
  directory: string,
  use: (copy: string) => Promise<void>,
): Promise<void> {
  const copy = await mkdtemp(join(tmpdir(), 'cyborg-agent-'));
  try {
    await cp(join(directory, 'drivers'), join(copy, 'drivers'), { recursive: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      },
    );
    await use(copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}
