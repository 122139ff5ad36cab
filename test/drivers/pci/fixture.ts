// GPUs that are passed through as a whole, one of them by its virtual functions; in the second
// fixture the agent makes the virtual functions of two cards, and binds them; in the third one it
// activates the NVLink partitions of two sets.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { FabricManager, partitionedHost, sets } from './fabric-manager.ts';
import { PciKernel } from './kernel.ts';

const entry = { vendor_id: '10de', resource_class: 'PGPU', clean: 'reset' };

export const fixture: DriverFixture = {
  module: ownDriver('pci'),
  settings: {
    allow_list: [
      { ...entry, product_id: '2236', virtual_functions: true },
      { ...entry, product_id: '2235' },
    ],
  },
  bus: ['bus/pci/devices'],
  host: () => {
    const tree = aSysfsTree().addFunction({ address: '0000:3b:00.0' });
    tree.addFunction({ address: '0000:5e:00.0' });
    tree.addFunction({ address: '0000:af:00.0', driver: 'nvidia' });
    tree.addVirtualFunctions('0000:af:00.0', 2, { product: '2236' });
    return { root: tree.root, remove: () => tree.remove() };
  },
};

const cards = ['0000:3b:00.0', '0000:5e:00.0'] as const;

export const setUp: DriverFixture = {
  module: ownDriver('pci'),
  settings: {
    allow_list: [
      { vendor_id: '10de', product_id: '2236', virtual_functions: 2, bind_to: 'vfio-pci' },
    ],
  },
  bus: ['bus/pci/devices'],
  host: () => {
    const tree = aSysfsTree();
    const kernel = new PciKernel(tree, { product: '2236', driver: undefined });
    for (const address of cards) kernel.addCard({ address, driver: 'nvidia', sriovTotalvfs: 4 });
    // Another number, and a function of which a driver of the host has taken hold.
    tree.addVirtualFunctions(cards[1], 1, { product: '2236', driver: 'nvidia' });
    return {
      root: tree.root,
      hardware: kernel.hardware(),
      boot: () => kernel.reboot(cards),
      remove: () => tree.remove(),
    };
  },
};

const gpus = { product_id: '2330', resource_class: 'PGPU' };

export const partitions: DriverFixture = {
  module: ownDriver('pci'),
  settings: {
    allow_list: [
      { ...gpus, address: '0000:0f:00.0', pool: 'left' },
      { ...gpus, address: '0000:10:00.0', pool: 'left' },
      { ...gpus, pool: 'right' },
    ],
    pools: ['left', 'right'].map((name, index) => ({ name, sets: [sets[index]] })),
  },
  bus: ['bus/pci/devices'],
  host: () => partitionedHost(new FabricManager({ 0: [1, 3, 5, 7], 3: [1, 3], 5: [7, 5] })),
};
