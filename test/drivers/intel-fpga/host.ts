// A host for tests of driver intel_fpga, with simulated cards.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice, ReportedRegion } from '#core/contracts/report/inventory-report.ts';
import { DriverHost } from '#test/support/hosts/driver-host.ts';
import { aGbs, fakeInterface, type GbsGiven } from '#test/support/hosts/gbs.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { FpgaKernel, type SimulatedCard } from './kernel.ts';

export const address = '0000:5e:00.0';
export const virtual = '0000:5e:00.1';
export const blankFunction = '00000000-0000-4000-8000-00000000b1a4';
export const imageId = '0f1a2b3c-0000-4000-8000-00000000000a';

export class IntelFpgaHost extends DriverHost {
  readonly kernel = new FpgaKernel(this.host.tree);
  readonly blank = join(this.host.proc.root, 'blank.gbs');

  constructor(card: Partial<SimulatedCard> = {}) {
    super(ownDriver('intel_fpga'), () => this.kernel.hardware());
    this.kernel.add(address, card);
    writeFileSync(this.blank, aGbs({ functionUuid: blankFunction }));
  }

  override start(settings: object = {}): Promise<Readonly<Record<string, ReportedDevice>>> {
    const blanks = { [fakeInterface]: this.blank };
    const given = { cards: [address], blank_images: blanks, fpgaconf: '/bin/true' };
    return super.start({ ...given, ...settings });
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
    await this.driver.images?.write(image, (percent) => this.percents.push(percent));
  }

  override clean(at = virtual): Promise<Evidence> {
    return super.clean(address, at);
  }

  /** A process that has a node of the host open. */
  open(node: string): void {
    this.host.proc.addProcess(31, { comm: 'qemu', open: [node] });
  }
}
