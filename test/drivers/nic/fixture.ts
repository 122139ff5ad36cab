// A card that is offered as a whole, and one by virtual functions that a host has made; in the
// second fixture the agent makes and binds the virtual functions of two cards.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { isReading, NicKernel } from './kernel.ts';

const [whole, divided] = ['0000:3d:00.0', '0000:5e:00.0'] as const;

function kernelOf() {
  const tree = aSysfsTree();
  const kernel = new NicKernel(tree);
  const host = {
    root: tree.root,
    hardware: kernel.hardware(),
    isReading,
    remove: () => tree.remove(),
  };
  return { kernel, host };
}

export const fixture: DriverFixture = {
  module: ownDriver('nic'),
  settings: {
    cards: [
      { addresses: [whole], physical_network: 'physnet2', function: 'gtpv1' },
      { addresses: divided, physical_network: 'physnet1', virtual_functions: true },
    ],
  },
  bus: ['bus/pci/devices'],
  host: () => {
    const { kernel, host } = kernelOf();
    kernel.addCard({ address: whole }, 'ens1').addCard({ address: divided }, 'ens2');
    kernel.addFunctions(divided, 2, { driver: 'vfio-pci' });
    return host;
  },
};

export const setUp: DriverFixture = {
  module: ownDriver('nic'),
  settings: {
    cards: [{ addresses: [whole, divided], virtual_functions: 2, bind_to: 'vfio-pci' }],
  },
  bus: ['bus/pci/devices'],
  host: () => {
    const { kernel, host } = kernelOf();
    kernel.addCard({ address: whole }, 'ens1').addCard({ address: divided }, 'ens2');
    kernel.addFunctions(divided, 1, { driver: 'iavf' });
    return { ...host, boot: () => kernel.reboot() };
  },
};
