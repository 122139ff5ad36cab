// GPUs that are passed through as a whole, one of them by its virtual functions.

import { aSysfsTree } from '#test/support/sysfs.ts';
import type { DriverFixture } from './fixture.ts';
import { ownDriver } from './own-driver.ts';

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
