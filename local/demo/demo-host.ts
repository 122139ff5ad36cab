// The compute node of `npm start` and `npm run demo`: the fake driver's device, a fake GPU that
// makes mdevs, a fake programmable FPGA, and a sysfs tree with a GPU and a network card with two
// virtual functions.

import { existsSync } from 'node:fs';
import type { AgentOptions } from '#local/process/system.ts';
import { SysfsTree } from './sysfs-tree.ts';

export const demoHostname = 'cmp1';

/** The PCI devices that Cyborg may use; the others are Nova's. */
const allowList = [
  { vendor_id: '10de', product_id: '1eb8', device_type: 'GPU', resource_class: 'PGPU' },
  {
    vendor_id: '8086',
    product_id: '154c',
    device_type: 'NIC',
    resource_class: 'CUSTOM_NIC',
    virtual_functions: true,
  },
];

/** Creates the tree, unless it exists. */
export function demoAgent(sysfsRoot: string): AgentOptions {
  if (!existsSync(sysfsRoot)) {
    new SysfsTree(sysfsRoot)
      .addFunction({
        address: '0000:3b:00.0',
        vendor: '10de',
        product: '1eb8',
        classCode: '030200',
      })
      .addFunction({
        address: '0000:5e:00.0',
        vendor: '8086',
        product: '1572',
        classCode: '020000',
        driver: 'i40e',
        sriovTotalvfs: 2,
      })
      .addVirtualFunctions('0000:5e:00.0', 2, {
        vendor: '8086',
        product: '154c',
        classCode: '020000',
      });
  }
  return {
    hostname: demoHostname,
    drivers: 'fake,pci,fake-gpu,fake-fpga',
    sysfsRoot,
    settings: { pci: { allow_list: allowList } },
  };
}
