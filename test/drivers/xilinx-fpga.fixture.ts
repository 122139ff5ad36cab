// Two Alveo cards, each with its management and its user function. XRT is simulated: what its
// drivers show, and both of its tools.

import { aSysfsTree } from '#test/support/sysfs.ts';
import { XrtKernel } from '#test/support/xrt-kernel.ts';
import type { DriverFixture } from './fixture.ts';
import { ownDriver } from './own-driver.ts';

export const fixture: DriverFixture = {
  module: ownDriver('xilinx_fpga'),
  settings: {
    cards: [{ addresses: ['0000:d8:00.0', '0000:af:00.0'] }],
    data_may_stay: true,
  },
  bus: ['bus/pci/devices'],
  host: () => {
    const tree = aSysfsTree();
    const kernel = new XrtKernel(tree);
    kernel.add('0000:d8:00');
    kernel.add('0000:af:00');
    return {
      root: tree.root,
      hardware: kernel.hardware(),
      boot: () => kernel.reboot(),
      remove: () => tree.remove(),
    };
  },
};
