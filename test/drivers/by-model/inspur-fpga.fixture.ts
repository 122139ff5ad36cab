// Two FPGA cards of Inspur, of both models, beside one of its SSDs.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

const inspur = { vendor: '1bd4', classCode: '120000' };

export const fixture: DriverFixture = {
  module: ownDriver('inspur_fpga'),
  settings: { devices: [{ model: 'F10A' }, { addresses: ['0000:86:00.0'] }] },
  bus: ['bus/pci/devices'],
  host: () => {
    const tree = aSysfsTree().addFunction({ ...inspur, address: '0000:3b:00.0', product: '0911' });
    tree.addFunction({ ...inspur, address: '0000:86:00.0', product: 'a115' });
    tree.addFunction({ ...inspur, address: '0000:c1:00.0', product: '1001', classCode: '010802' });
    return { root: tree.root, remove: () => tree.remove() };
  },
};
