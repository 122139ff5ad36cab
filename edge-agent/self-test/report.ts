// The report of a self-test, for a person with cards to send: what the agent is, what the host is,
// what each driver would offer or refuse, what each look took, and the record of the host. Lines
// that begin with `#` are not of the record, so that a report can be added as a recorded host.

import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { hostname, machine, release } from 'node:os';
import type { Clock } from '#agent/clock.ts';
import type { Config } from '#agent/config/config.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { openProc } from '#agent/guards/proc.ts';
import { reasonOf } from '#agent/log.ts';
import { type HostRecord, printHost } from '#agent/record/host-record.ts';
import { recordHost } from '#agent/record/record-host.ts';
import { scrub } from '#agent/record/scrub.ts';
import { readDiscovery } from '#agent/report/read-discovery.ts';
import { readIfReadable } from '#agent/sysfs/pci.ts';
import { openSysfs, type Sysfs } from '#agent/sysfs/root.ts';
import { agentVersion } from '#agent/version.ts';
import { reportStage } from './offer-all.ts';

/** A person waits for it. */
const reportMsMax = 10 * 60_000;

export interface Report {
  /** The driver, with each call timed, and ended when the time of the report is over. */
  watch(driver: Driver): Driver;
  add(line: string): void;
  save(): Promise<void>;
}

type Host = Pick<Config, 'sysfsRoot' | 'procRoot' | 'hostname' | 'stage'>;

/** @throws if the file exists, or cannot be written */
export async function openReport(path: string, host: Host, clock: Clock): Promise<Report> {
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw error;
    throw new Error(`${path} exists: a report goes into a new file.`);
  });
  const lines: string[] = [];
  const took: string[] = [];
  const names = [host.hostname, hostname()].flatMap((name) => [name, name.split('.')[0] ?? '']);
  const until = clock.monotonicMs() + reportMsMax;
  const timed = async <T>(driver: string, what: string, call: () => Promise<T>): Promise<T> => {
    const from = clock.monotonicMs();
    const ended = new AbortController();
    const late = clock.sleep(Math.max(until - from, 0), ended.signal).then(() => {
      throw new Error(`the ${reportMsMax / 60_000} minutes of a report are over`);
    });
    try {
      return await Promise.race([call(), late]);
    } finally {
      ended.abort();
      late.catch(() => {});
      took.push(`took ${Math.round(clock.monotonicMs() - from)} ms: ${driver} ${what}`);
    }
  };
  return {
    add: (line) => lines.push(line),
    watch: (driver) => {
      const { name, plan, examineTools, examine } = driver;
      return {
        ...driver,
        discover: async () => {
          const discovery = await timed(name, 'discover', () => driver.discover());
          const { devices } = readDiscovery(driver, discovery);
          for (const { identity } of Object.values(devices)) names.push(identity ?? '');
          return discovery;
        },
        ...(plan && { plan: () => timed(name, 'plan', plan) }),
        ...(examineTools && { examineTools: () => timed(name, 'examineTools', examineTools) }),
        ...(examine && { examine: () => timed(name, 'examine', examine) }),
      };
    },
    save: async () => {
      const sysfs = openSysfs(host.sysfsRoot);
      const record = readRecord(sysfs, host);
      const drivers = record?.functions.flatMap(({ values }) => values.driver ?? []) ?? [];
      const head = [
        `Self-test of cyborg-agent ${agentVersion}, ${new Date().toISOString().slice(0, 10)}`,
        `kernel ${release()} ${machine()}, ${readDistribution()}, Node ${process.version}`,
        `settings: ${host.stage === reportStage ? 'none, so all devices as a whole' : 'of the operator'}`,
        ...moduleVersions(sysfs, [...new Set(drivers)].sort()),
      ];
      const text = [...head, ...lines, ...took].map((line) => `# ${printable(line)}\n`).join('');
      const scrubbed = scrub(text, [...names, ...readSerials(sysfs)]);
      await file.writeFile(scrubbed + (record ? printHost(record) : ''));
      await file.close();
    },
  };
}

function readRecord(sysfs: Sysfs, { procRoot }: Host): HostRecord | undefined {
  try {
    return recordHost(sysfs, openProc(procRoot));
  } catch {
    return undefined;
  }
}

function readDistribution(): string {
  try {
    const text = readFileSync('/etc/os-release', 'utf8');
    return /^PRETTY_NAME="?([^"\n]*)/m.exec(text)?.[1] ?? 'unknown distribution';
  } catch (error) {
    return `unknown distribution (${reasonOf(error)})`;
  }
}

/** Modules outside of the kernel's source have a version; most of its own have none. */
function moduleVersions(sysfs: Sysfs, drivers: readonly string[]): string[] {
  return drivers.flatMap((name) => {
    const version = readIfReadable(sysfs, `module/${name.replaceAll('-', '_')}/version`);
    return version ? [`module ${name} ${version}`] : [];
  });
}

function readSerials(sysfs: Sysfs): string[] {
  const disks = listOr(sysfs, 'class/nvme').map((name) => `class/nvme/${name}/serial`);
  const board = ['product_serial', 'board_serial', 'chassis_serial', 'product_uuid'].map(
    (name) => `class/dmi/id/${name}`,
  );
  return [...disks, ...board].flatMap((path) => readIfReadable(sysfs, path)?.trim() ?? []);
}

function listOr(sysfs: Sysfs, path: string): readonly string[] {
  try {
    return sysfs.list(path) ?? [];
  } catch {
    return [];
  }
}

function printable(line: string): string {
  return line.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 500);
}
