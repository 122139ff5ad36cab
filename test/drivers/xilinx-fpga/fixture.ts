// Two Alveo cards, each with its management and its user function. XRT is simulated: what its
// drivers show, and both of its tools.

import { type DriverFixture, simulatedHost } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { XrtKernel } from './kernel.ts';

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
    return simulatedHost(tree, kernel);
  },
};
