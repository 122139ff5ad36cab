// Two NVMe devices that are sanitised, and in the second fixture formatted with their namespaces
// and boot partitions reset. Kernel, tool and devices are simulated.

import type { DriverFixture, FixtureHost } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { NvmeKernel } from './kernel.ts';

const addresses = ['0000:c1:00.0', '0000:c2:00.0'] as const;
const devices = [{ vendor_id: '144d' }];
const bus = ['bus/pci/devices'];

function host(): FixtureHost {
  const tree = aSysfsTree();
  const kernel = new NvmeKernel(tree);
  for (const address of addresses) kernel.add({ address }, { bpinfo: 1, polls: 1 });
  return {
    root: tree.root,
    hardware: kernel.hardware(),
    isReading: (_tool, [verb = '']) => /^(id-ctrl|smart-log|show-regs|version)$/.test(verb),
    boot: () => kernel.reboot(),
    remove: () => tree.remove(),
  };
}

export const fixture: DriverFixture = {
  module: ownDriver('nvme'),
  host,
  bus,
  settings: { devices },
};

export const formatted: DriverFixture = {
  module: ownDriver('nvme'),
  host,
  bus,
  settings: { devices, clean: 'format', namespaces: 'reset' },
};
