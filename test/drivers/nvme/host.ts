// A host for tests of driver nvme: simulated controllers on a guarded host, and a clock whose time
// passes by sleeping.

import { join } from 'node:path';
import { type Clock, systemClock } from '#agent/clock.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { createNvmeDriver } from '#agent/drivers/nvme/index.ts';
import { nvmeSettings } from '#agent/drivers/nvme/settings.ts';
import { openGuards } from '#agent/guards/guards.ts';
import { openOfferedBefore } from '#agent/guards/offered-before.ts';
import { openProc } from '#agent/guards/proc.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { setUp } from '#agent/process/set-up.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import type { Evidence } from '#core/contracts/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { aGuardedHost, type GuardedHost } from '#test/support/hosts/guarded-host.ts';
import { type NvmeDevice, NvmeKernel } from './kernel.ts';

export const address = '0000:c1:00.0';
export const second = '0000:c2:00.0';

export class NvmeHost {
  readonly host: GuardedHost = aGuardedHost();
  readonly kernel = new NvmeKernel(this.host.tree);
  readonly percents: number[] = [];
  /** By the clock that the driver has. */
  nowMs = 0;
  driver: Driver | undefined;

  readonly #clock: Clock = {
    ...systemClock,
    monotonicMs: () => this.nowMs,
    sleep: async (ms) => {
      this.nowMs += ms;
    },
  };

  get device(): NvmeDevice {
    return this.kernel.at(address);
  }

  /** Starts the agent: the driver, its set-up and its first discovery. */
  async start(settings: object = {}): Promise<Readonly<Record<string, ReportedDevice>>> {
    const { sysfs, proc, log } = this.host;
    const hardware: Hardware = { ...this.host.hardware, ...this.kernel.hardware() };
    const state = join(proc.root, 'state');
    const guards = openGuards({
      ...{ sysfs, hardware, proc: openProc(proc.root), ownPid: '4711' },
      offeredBefore: await openOfferedBefore(openStateFiles(state), log),
      readDomains: this.host.readDomains,
    });
    const context: DriverContext = {
      ...{ sysfs, hardware, guards, log, clock: this.#clock, directory: join(state, 'nvme') },
      ...{ thing: 'test:cmp1', bootId: 'x', isPrepared: () => false },
    };
    const given = nvmeSettings.parse({ devices: [{ vendor_id: '144d' }], ...settings });
    this.driver = createNvmeDriver(given, context);
    const found = await this.discover();
    this.kernel.ran.length = 0;
    return found;
  }

  async discover(): Promise<Readonly<Record<string, ReportedDevice>>> {
    if (!this.driver) throw new Error('The agent is not started.');
    await setUp(this.driver, this.host.log);
    return (await this.driver.discover()).devices;
  }

  async reasons(): Promise<Record<string, string>> {
    const { notOffered = [] } = (await this.driver?.discover()) ?? {};
    return Object.fromEntries(notOffered.map((each) => [each.address, each.reason]));
  }

  async clean(at: string = address): Promise<Evidence> {
    const [domain = '', bus = '', rest = ''] = at.split(':');
    const [device = '', fn = ''] = rest.split('.');
    const info = { domain, bus, device, function: fn };
    const handle: HandleWork = { address: at, uuid: 'u', type: 'PCI', info };
    const clean = this.driver?.clean;
    if (!clean) throw new Error('The driver does not clean.');
    return await clean(handle, (percent) => this.percents.push(percent));
  }

  /** Names of the commands that change something. */
  changes(): string[] {
    const reading = /^(version|(id-ctrl|id-ns|list-ns|sanitize-log|show-regs) .*)$/;
    return this.kernel.ran.filter((each) => !reading.test(each));
  }

  remove(): void {
    this.host.remove();
  }
}
