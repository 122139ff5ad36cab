// A card that is offered as a whole, and one by the virtual functions that a host has made; in the
// second fixture the agent sets the services of two cards, makes their virtual functions and binds
// them. The kernel's driver is simulated.

import { type DriverFixture, simulatedHost } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { QatKernel } from './kernel.ts';

const [first, second] = ['0000:6b:00.0', '0000:70:00.0'] as const;
const bus = ['bus/pci/devices'];

export const fixture: DriverFixture = {
  module: ownDriver('qat'),
  bus,
  settings: {
    cards: [
      { addresses: first, virtual_functions: false },
      { addresses: [second], bind_to: 'vfio-pci' },
    ],
  },
  host: () => {
    const tree = aSysfsTree();
    const kernel = new QatKernel(tree);
    kernel.addOld({ address: first, product: '37c8', driver: 'vfio-pci' });
    kernel.addCard({ address: second });
    return simulatedHost(tree, kernel);
  },
};

export const setUp: DriverFixture = {
  module: ownDriver('qat'),
  bus,
  settings: {
    cards: [{ addresses: [first, second], services: ['dc', 'asym'], bind_to: 'vfio-pci' }],
  },
  host: () => {
    const tree = aSysfsTree();
    const kernel = new QatKernel(tree);
    kernel.addCard({ address: first }).addCard({ address: second }, { state: 'down' });
    return simulatedHost(tree, kernel);
  },
};
