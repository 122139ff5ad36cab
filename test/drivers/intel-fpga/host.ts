// A host for tests of driver intel_fpga: simulated cards on a guarded host, and a clock whose time
// passes by sleeping.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '#agent/clock.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { createIntelFpgaDriver } from '#agent/drivers/intel-fpga/index.ts';
import { intelFpgaSettings } from '#agent/drivers/intel-fpga/settings.ts';
import { openGuards } from '#agent/guards/guards.ts';
import { openOfferedBefore } from '#agent/guards/offered-before.ts';
import { openProc } from '#agent/guards/proc.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type SetUpEnd, setUp } from '#agent/process/set-up.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import type { Evidence } from '#core/contracts/job-document.ts';
import type { ReportedDevice, ReportedRegion } from '#core/contracts/report/inventory-report.ts';
import { aGbs, fakeInterface, type GbsGiven } from '#test/support/hosts/gbs.ts';
import { aGuardedHost, type GuardedHost } from '#test/support/hosts/guarded-host.ts';
import { FpgaKernel } from './kernel.ts';

export const address = '0000:5e:00.0';
export const virtual = '0000:5e:00.1';
export const blankFunction = '00000000-0000-4000-8000-00000000b1a4';
export const imageId = '0f1a2b3c-0000-4000-8000-00000000000a';

export class IntelFpgaHost {
  readonly host: GuardedHost = aGuardedHost();
  readonly kernel = new FpgaKernel(this.host.tree);
  readonly percents: number[] = [];
  readonly blank = join(this.host.proc.root, 'blank.gbs');
  bootId = 'first';
  driver: Driver | undefined;
  setUpEnd: SetUpEnd = { applied: [], left: [] };
  #nowMs = 0;

  readonly #clock: Clock = {
    ...systemClock,
    monotonicMs: () => this.#nowMs,
    wallMs: () => 0,
    sleep: async (ms) => {
      this.#nowMs += ms;
    },
  };

  constructor() {
    writeFileSync(this.blank, aGbs({ functionUuid: blankFunction }));
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
      ...{ sysfs, hardware, guards, log, clock: this.#clock, directory: join(state, 'fpga') },
      ...{ thing: 'test:cmp1', bootId: this.bootId, isPrepared: () => false },
    };
    const given = intelFpgaSettings.parse({
      ...{ cards: [address], blank_images: { [fakeInterface]: this.blank } },
      ...{ fpgaconf: '/bin/true', ...settings },
    });
    this.driver = createIntelFpgaDriver(given, context);
    return this.discover();
  }

  /** As the agent does: the host's set-up, and then the discovery. */
  async discover(): Promise<Readonly<Record<string, ReportedDevice>>> {
    if (!this.driver) throw new Error('The agent is not started.');
    this.setUpEnd = await setUp(this.driver, this.host.log);
    return (await this.driver.discover()).devices;
  }

  async reasons(): Promise<Record<string, string>> {
    const { notOffered = [] } = (await this.driver?.discover()) ?? {};
    return Object.fromEntries(notOffered.map((each) => [each.address, each.reason]));
  }

  /** The region of a port, as the next discovery reports it. */
  async region(port = 0): Promise<ReportedRegion | undefined> {
    const device = (await this.discover())[address];
    return device?.regions.find(({ name }) => name === `region${port}`);
  }

  async write(given: GbsGiven | Buffer = {}, region = 'region0'): Promise<void> {
    const imagePath = join(this.host.proc.root, 'image');
    writeFileSync(imagePath, Buffer.isBuffer(given) ? given : aGbs(given));
    const image = { address, region, imageId, imagePath };
    await this.driver?.images?.write(image, (percent) => this.percents.push(percent));
  }

  async clean(at: string = virtual): Promise<Evidence> {
    const [domain = '', bus = '', rest = ''] = at.split(':');
    const [device = '', fn = ''] = rest.split('.');
    const info = { domain, bus, device, function: fn };
    const handle: HandleWork = { address, uuid: 'u', type: 'PCI', info };
    if (!this.driver?.clean) throw new Error('The driver does not clean.');
    return await this.driver.clean(handle, () => {});
  }

  driverOf(at: string): string | undefined {
    return this.host.sysfs.linkName(`bus/pci/devices/${at}/driver`);
  }

  /** A process that has a node of the host open. */
  open(node: string): void {
    this.host.proc.addProcess(31, { comm: 'qemu', open: [node] });
  }

  remove(): void {
    this.host.remove();
  }
}
