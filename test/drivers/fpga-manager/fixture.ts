// Two boards with a kernel of AMD's, each with a PCI function for guests. Kernel and boards are
// simulated.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DriverFixture } from '#test/drivers/fixture.ts';
import { aGbs, fakeInterface } from '#test/support/hosts/gbs.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { FpgaManagerKernel } from './kernel.ts';

const firmware = mkdtempSync(join(tmpdir(), 'firmware-'));
process.once('exit', () => rmSync(firmware, { recursive: true, force: true }));
const blank = join(firmware, 'blank.gbs');
const boards = [
  { manager: 'fpga0', attach: '0000:01:00.0' },
  { manager: 'fpga1', attach: '0000:02:00.0' },
];

export const fixture: DriverFixture = {
  module: ownDriver('fpga_manager'),
  settings: {
    boards: boards.map((each) => ({ ...each, interface: fakeInterface, blank_image: blank })),
    firmware_directory: firmware,
  },
  bus: ['bus/pci/devices'],
  host: () => {
    writeFileSync(blank, aGbs());
    const tree = aSysfsTree();
    const kernel = new FpgaManagerKernel(tree, firmware);
    for (const { manager, attach } of boards) {
      kernel.add(manager);
      tree.addFunction({ address: attach, vendor: '10ee', product: '9038', classCode: '120000' });
    }
    return {
      root: tree.root,
      hardware: kernel.hardware(),
      boot: () => kernel.boot(),
      remove: () => tree.remove(),
    };
  },
};
