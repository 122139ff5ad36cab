// One trial of a driver: a host of its fixture, and on it the part of the agent that calls
// drivers. The agent can die at any write and start again with the files that it left.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '#agent/clock.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { openGuards } from '#agent/guards/guards.ts';
import { openDomains } from '#agent/guards/libvirt/domains.ts';
import { openOfferedBefore } from '#agent/guards/offered-before.ts';
import { openProc } from '#agent/guards/proc.ts';
import { preparedBy } from '#agent/handles/prepare-handle.ts';
import { recoverHandles } from '#agent/handles/recover-handles.ts';
import { runSteps } from '#agent/handles/run-steps.ts';
import { createDownloads } from '#agent/images/download.ts';
import { type SetUpEnd, setUp } from '#agent/process/set-up.ts';
import { createDiscovery, type Found as Discovered } from '#agent/report/discover.ts';
import { type Checkpoint, openCheckpoint } from '#agent/state/checkpoint.ts';
import type { JobOutcome } from '#agent/state/checkpoint-state.ts';
import { openComponentRecords } from '#agent/state/component-records.ts';
import { openStateFiles, type StateFiles } from '#agent/state/state-files.ts';
import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import type { JobStep } from '#core/contracts/jobs/job-document.ts';
import { listHandles, type ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { aLog } from '#test/support/hosts/agent.ts';
import { DomainFolder } from '#test/support/hosts/domain-folder.ts';
import { ProcTree } from '#test/support/hosts/proc-tree.ts';
import { type FaultyHost, faultyHost } from './faulty-host.ts';
import type { DriverFixture, FixtureHost } from './fixture.ts';

/** A handle that a driver offers. */
export interface Offered {
  readonly work: HandleWork;
  readonly prepare: ReportedHandle['prepare'];
  readonly isCleaned: boolean;
}

export interface Job {
  readonly id: string;
  readonly verb: 'prepare' | 'clean';
  readonly work: HandleWork;
  readonly epoch: number;
}

/** Longer than anything takes that does not hang. */
const hangsMs = 60_000;

export class Trial {
  readonly host: FixtureHost;
  readonly fixture: DriverFixture;
  readonly log = aLog();
  driver: Driver;
  faulty: FaultyHost;
  /** The longest of the agent's limits. */
  limitMs = Number.POSITIVE_INFINITY;
  /** Calls of the driver's `clean`. */
  cleans = 0;
  /** Programs that the last call has run to its end. */
  cleanPrograms: readonly string[] = [];
  #checkpoint: Checkpoint | undefined;
  #discover: () => Promise<Discovered> = () => Promise.reject(new Error('not started'));
  #bootId: string = randomUUID();
  readonly #directory = mkdtempSync(join(tmpdir(), 'driver-'));
  /** Processes of the host. */
  readonly proc = new ProcTree();
  /** Servers that libvirt knows. */
  readonly domains = new DomainFolder();

  readonly #clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms, this.limitMs), signal),
  };

  /** The host's name in the control plane. */
  readonly thing = 'test:cmp1';

  constructor(fixture: DriverFixture) {
    this.fixture = fixture;
    this.host = fixture.host({ directory: this.directory, bootId: () => this.#bootId });
    this.faulty = faultyHost(this.host);
    this.driver = { name: fixture.module.name, discover: async () => ({ devices: {} }) };
  }

  /** The driver's own folder. */
  get directory(): string {
    return join(this.#directory, 'drivers', this.fixture.module.name);
  }

  /** Starts the agent, as after its end or its death. */
  async start(): Promise<void> {
    const faulty = faultyHost(this.host);
    const { sysfs, hardware } = faulty;
    const files = stepped(openStateFiles(this.#directory), faulty);
    const checkpoint = await openCheckpoint({ files, bootId: this.#bootId, log: this.log });
    const guards = openGuards({
      sysfs,
      hardware,
      proc: openProc(this.proc.root),
      ownPid: '4711',
      offeredBefore: await openOfferedBefore(openStateFiles(this.#directory), this.log),
      readDomains: openDomains({ path: this.domains.path, isNamed: false }),
    });
    const configured = this.fixture.module.configure(this.fixture.settings);
    if ('faults' in configured) {
      throw new Error(`The settings are refused: ${JSON.stringify(configured.faults)}`);
    }
    const driver = configured.create({
      sysfs,
      hardware,
      guards,
      clock: this.#clock,
      log: this.log,
      directory: this.directory,
      thing: this.thing,
      bootId: this.#bootId,
      isPrepared: (uuid) => checkpoint.prepared(uuid) !== undefined,
      prepared: () => preparedBy(checkpoint, this.fixture.module.name),
    });
    const { clean } = driver;
    this.driver = {
      ...driver,
      ...(clean && {
        clean: async (handle, onProgress) => {
          this.cleans += 1;
          faulty.programs.clear();
          const evidence = await clean(handle, onProgress);
          this.cleanPrograms = [...faulty.programs];
          return evidence;
        },
      }),
    };
    this.faulty = faulty;
    this.#checkpoint = checkpoint;
    this.#discover = createDiscovery({
      drivers: [this.driver, neighbour],
      clock: this.#clock,
      log: this.log,
    });
    await recoverHandles({ checkpoint, drivers: [this.driver], log: this.log });
  }

  async boot(): Promise<void> {
    this.host.boot?.();
    this.#bootId = randomUUID();
    await this.start();
  }

  /** A discovery as the agent's, with set-up and checks; without the neighbour. */
  async discover(): Promise<Discovered> {
    const found = await inTime(this.#discover(), 'The discovery');
    const devices = found.devices.filter(({ device }) => device.driver !== neighbour.name);
    if (devices.length === found.devices.length) {
      throw new Error("Another driver's device is missing in the discovery.");
    }
    return { ...found, devices };
  }

  /** Handles of what it finds now; those without a uuid get one, as the control plane gives it. */
  async offered(): Promise<Offered[]> {
    const { devices } = await this.discover();
    return devices.flatMap(({ device }) => handlesOf(device));
  }

  objects(): readonly string[] {
    return [...(this.host.objects?.() ?? [])].sort();
  }

  /** The same job again continues it, as after a death of the agent. */
  async run(job: Job): Promise<JobOutcome> {
    return await inTime(this.begin(job), `The job ${job.verb}`);
  }

  /** Runs it without a limit. */
  async begin({ id, verb, work, epoch }: Job): Promise<JobOutcome> {
    if (!this.#checkpoint) throw new Error('The agent is not started.');
    const { address, uuid, type, info } = work;
    const place = { driver: this.driver.name, address };
    const handle = { uuid, type, info: { ...info }, epoch };
    const step: JobStep =
      verb === 'prepare' ? { kind: verb, ...place, handle } : { kind: verb, ...place, handle };
    const action = verb === 'prepare' ? 'prepare' : 'release';
    return await runSteps(
      {
        drivers: [this.driver],
        clock: this.#clock,
        log: this.log,
        checkpoint: this.#checkpoint,
        components: await openComponentRecords(openStateFiles(this.#directory), this.log),
        downloads: createDownloads(join(this.#directory, 'images'), this.log),
      },
      {
        jobId: id,
        execution: '1',
        stop: new AbortController().signal,
        job: { action, steps: [step] },
        onProgress: () => {},
      },
    );
  }

  /** What the agent does before a discovery. */
  async setUp(): Promise<SetUpEnd> {
    return await inTime(setUp(this.driver, this.log), 'The set-up');
  }

  /** Runs a job on an agent that dies at one of its writes. False if the job ends before. */
  async runKilled(job: Job, write: number): Promise<boolean> {
    return await this.isKilledAt(write, `The job ${job.verb}`, () => this.begin(job));
  }

  /** The agent dies at a write: at the files of the agent, at the hardware. */
  async isKilledAt(write: number, what: string, work: () => Promise<unknown>): Promise<boolean> {
    let count = 0;
    let die = () => {};
    const dead = new Promise<'dead'>((resolve) => {
      die = () => resolve('dead');
    });
    this.faulty.faults.step = async () => {
      count += 1;
      if (count <= write) return;
      die();
      await new Promise(() => {});
    };
    const end = await inTime(Promise.race([work(), dead]), what);
    this.faulty.faults.step = async () => {};
    return end === 'dead';
  }

  remove(): void {
    this.host.remove();
    this.proc.remove();
    this.domains.remove();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export const neighbour: Driver = {
  name: 'neighbour',
  discover: async () => ({
    devices: {
      'ffff:ff:1f.0': {
        address: 'ffff:ff:1f.0',
        driver: 'neighbour',
        type: 'NIC',
        model: '',
        vendor: '8086',
        product: '0000',
        regions: [],
      },
    },
  }),
};

function handlesOf(device: ReportedDevice): Offered[] {
  const { address } = device;
  return listHandles(device).map(({ uuid, type, info, prepare, clean_seconds: seconds }) => ({
    work: { address, uuid: uuid?.toLowerCase() ?? randomUUID(), type, info },
    prepare,
    isCleaned: seconds !== undefined,
  }));
}

function stepped(files: StateFiles, { faults }: FaultyHost): StateFiles {
  return {
    ...files,
    replace: async (name, text) => {
      await faults.step(`before ${name}`);
      await files.replace(name, text);
      await faults.step(`after ${name}`);
    },
  };
}

export async function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, hangsMs, new Error(`${what} hangs.`));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
