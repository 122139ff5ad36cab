// AI processors by the table of models: a whole card, and the virtual functions of another; in the
// second fixture the agent makes the virtual functions of two cards, and binds them.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

const ascend = { vendor: '19e5', classCode: '120000' };
const amd = { vendor: '1002', classCode: '120000' };

export const fixture: DriverFixture = {
  module: ownDriver('ai_chip'),
  settings: {
    devices: [
      { model: 'Ascend 310P' },
      { model: 'MI300X VF' },
      { addresses: ['0000:d8:00.0', '0000:d9:00.0'], traits: ['CUSTOM_TRAINING'] },
    ],
    rows: [
      {
        name: 'My NPU',
        vendor_id: '1ae0',
        product_ids: ['0001'],
        resource_class: 'CUSTOM_MY_NPU',
      },
    ],
  },
  bus: ['bus/pci/devices'],
  host: () => {
    const tree = aSysfsTree().addFunction({ ...ascend, address: '0000:3b:00.0', product: 'd500' });
    tree.addFunction({ ...ascend, address: '0000:5e:00.0', product: 'd500' });
    tree.addFunction({ ...amd, address: '0000:af:00.0', product: '74a1', driver: 'amdgpu' });
    tree.addVirtualFunctions('0000:af:00.0', 2, { ...amd, product: '74b5' });
    tree.addFunction({ address: '0000:d8:00.0', vendor: '1ae0', product: '0001' });
    // The vendor is in the table, the id is not.
    tree.addFunction({ ...ascend, address: '0000:d9:00.0', product: 'd999' });
    return { root: tree.root, remove: () => tree.remove() };
  },
};

const cards = ['0000:3b:00.0', '0000:5e:00.0'] as const;

export const setUp: DriverFixture = {
  module: ownDriver('ai_chip'),
  settings: {
    devices: [{ model: 'MI300X VF', virtual_functions: 2, bind_to: 'vfio-pci', clean: 'none' }],
  },
  bus: ['bus/pci/devices'],
  host: () => {
    const tree = aSysfsTree();
    const kernel = new PciKernel(tree, { ...amd, product: '74b5', driver: undefined });
    const card = { ...amd, product: '74a1', driver: 'gim', sriovTotalvfs: 4 };
    for (const address of cards) kernel.addCard({ ...card, address });
    // Another number, and a function of which a driver of the host has taken hold.
    tree.addVirtualFunctions(cards[1], 1, { ...amd, product: '74b5', driver: 'amdgpu' });
    return {
      root: tree.root,
      hardware: kernel.hardware(),
      boot: () => kernel.reboot(cards),
      remove: () => tree.remove(),
    };
  },
};
