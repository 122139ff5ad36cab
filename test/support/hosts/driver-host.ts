// A guarded host on which a test starts a driver of the agent, with a simulated kernel and a clock
// whose time passes by sleeping.

import { join } from 'node:path';
import { type Clock, systemClock } from '#agent/clock.ts';
import type { DriverModule } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HostChange } from '#agent/drivers/contract/driver.ts';
import { openGuards } from '#agent/guards/guards.ts';
import { openOfferedBefore } from '#agent/guards/offered-before.ts';
import { openProc } from '#agent/guards/proc.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type SetUpEnd, setUp } from '#agent/process/set-up.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { aGuardedHost, type GuardedHost } from './guarded-host.ts';

/** A clock on which sleeping takes no time, and moves the time. */
export function sleepingClock(time: { nowMs: number; whileAsleep?(): void }): Clock {
  return {
    ...systemClock,
    wallMs: () => time.nowMs,
    monotonicMs: () => time.nowMs,
    sleep: async (ms) => {
      time.nowMs += ms;
      time.whileAsleep?.();
    },
  };
}

export class DriverHost {
  readonly host: GuardedHost = aGuardedHost();
  /** The time of the driver's clock. */
  nowMs = 0;
  /** Called after each sleep on it. */
  whileAsleep = () => {};
  bootId = 'x';
  setUpEnd: SetUpEnd = { applied: [], left: [] };
  /** Progress that the driver's work has reported. */
  readonly percents: number[] = [];
  driver: Driver = { name: 'none', discover: async () => ({ devices: {} }) };
  readonly #module: DriverModule;
  readonly #kernel: (host: GuardedHost) => Partial<Hardware>;

  /** @param kernel what has an effect in the kernel; the rest reads and writes the tree */
  constructor(module: DriverModule, kernel: (host: GuardedHost) => Partial<Hardware>) {
    this.#module = module;
    this.#kernel = kernel;
  }

  /** The driver's own folder. */
  get directory(): string {
    return join(this.host.proc.root, 'state', this.#module.name);
  }

  /** Starts the agent; its state stays. */
  async start(settings: unknown): Promise<Readonly<Record<string, ReportedDevice>>> {
    const { sysfs, proc, log } = this.host;
    const isInstalled = () => true;
    const hardware: Hardware = { ...this.host.hardware, isInstalled, ...this.#kernel(this.host) };
    const guards = openGuards({
      sysfs,
      hardware,
      proc: openProc(proc.root),
      ownPid: '4711',
      offeredBefore: await openOfferedBefore(openStateFiles(join(proc.root, 'state')), log),
      readDomains: this.host.readDomains,
    });
    const configured = this.#module.configure(settings);
    if ('faults' in configured) throw new Error(JSON.stringify(configured.faults));
    this.driver = configured.create({
      sysfs,
      hardware,
      guards,
      log,
      directory: this.directory,
      thing: 'test:cmp1',
      bootId: this.bootId,
      isPrepared: () => false,
      prepared: () => [],
      clock: sleepingClock(this),
    });
    return this.discover();
  }

  /** With the set-up before it. */
  async discover(): Promise<Readonly<Record<string, ReportedDevice>>> {
    this.setUpEnd = await setUp(this.driver, this.host.log);
    return (await this.driver.discover()).devices;
  }

  async plan(): Promise<readonly HostChange[]> {
    return (await this.driver.plan?.()) ?? [];
  }

  async reasons(): Promise<Record<string, string>> {
    const { notOffered = [] } = await this.driver.discover();
    return Object.fromEntries(notOffered.map((each) => [each.address, each.reason]));
  }

  /** @param at the function, if it is not the card itself */
  async clean(card: string, at: string = card): Promise<Evidence> {
    const info = { ...parsePciAddress(at) };
    const { clean } = this.driver;
    if (!clean) throw new Error('The driver does not clean.');
    return await clean({ address: card, uuid: 'u', type: 'PCI', info }, (percent) =>
      this.percents.push(percent),
    );
  }

  driverOf(address: string): string | undefined {
    return this.host.sysfs.linkName(`bus/pci/devices/${address}/driver`);
  }

  remove(): void {
    this.host.remove();
  }
}
