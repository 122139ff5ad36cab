// The device that Cyborg's fake driver has, too.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

export const fixture: DriverFixture = {
  module: ownDriver('fake'),
  host: () => {
    const tree = aSysfsTree();
    return { root: tree.root, remove: () => tree.remove() };
  },
};
