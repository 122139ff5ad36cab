// The device that Cyborg's fake driver has, too.

import { aSysfsTree } from '#test/support/sysfs.ts';
import type { DriverFixture } from './fixture.ts';
import { ownDriver } from './own-driver.ts';

export const fixture: DriverFixture = {
  module: ownDriver('fake'),
  host: () => {
    const tree = aSysfsTree();
    return { root: tree.root, remove: () => tree.remove() };
  },
};
