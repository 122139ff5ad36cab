// A host for tests of driver nvme, with simulated controllers.

import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { DriverHost } from '#test/support/hosts/driver-host.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { type NvmeDevice, NvmeKernel } from './kernel.ts';

export const address = '0000:c1:00.0';
export const second = '0000:c2:00.0';

export class NvmeHost extends DriverHost {
  readonly kernel = new NvmeKernel(this.host.tree);

  constructor() {
    super(ownDriver('nvme'), () => this.kernel.hardware());
    this.kernel.add({ address });
  }

  get device(): NvmeDevice {
    return this.kernel.at(address);
  }

  override async start(settings: object = {}): Promise<Readonly<Record<string, ReportedDevice>>> {
    const devices = await super.start({ devices: [{ vendor_id: '144d' }], ...settings });
    this.kernel.ran.length = 0;
    return devices;
  }

  override clean(at = address): Promise<Evidence> {
    return super.clean(at);
  }

  /** Names of the commands that change something. */
  changes(): string[] {
    const reading =
      /^(version|(id-ctrl|id-ns|list-ns|sanitize-log|smart-log|show-regs|fw-log) .*)$/;
    return this.kernel.ran.filter((each) => !reading.test(each));
  }
}
