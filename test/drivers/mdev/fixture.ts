// Two cards whose kernel driver makes mdevs, one by itself and one on its virtual functions; with
// the mdevs made at binds here, and made ahead in the second fixture.

import type { DriverFixture, FixtureHost } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { MdevKernel } from './kernel.ts';

const [card, virtual] = ['0000:3b:00.0', '0000:5e:00.0'] as const;
const [type, otherType] = ['nvidia-1', 'nvidia-2'] as const;
const pools = [{ parents: [card, virtual], type }];

function host(): FixtureHost {
  const tree = aSysfsTree().addFunction({ address: card, driver: 'nvidia' });
  tree.addFunction({ address: virtual, driver: 'nvidia' });
  tree.addVirtualFunctions(virtual, 2, { product: '2236', driver: 'nvidia' });
  const kernel = new MdevKernel(tree);
  kernel.addParent(card, { capacity: 2, types: { [type]: 1, [otherType]: 2 } });
  for (const number of [1, 2]) {
    kernel.addParent(`0000:5e:00.${number}`, { capacity: 1, types: { [type]: 1 } });
  }
  return {
    root: tree.root,
    hardware: kernel.hardware(),
    objects: () => kernel.uuids(),
    makeForeign: ({ uuid }) => kernel.make(card, otherType, uuid),
    boot: () => kernel.reboot(),
    remove: () => tree.remove(),
  };
}

const bus = ['class/mdev_bus', 'bus/mdev/devices'];

export const fixture: DriverFixture = {
  module: ownDriver('mdev'),
  host,
  bus,
  settings: { pools, made: 'at-bind' },
};

export const ahead: DriverFixture = {
  module: ownDriver('mdev'),
  host,
  bus,
  settings: { pools, made: 'ahead' },
};
