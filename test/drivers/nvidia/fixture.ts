// A whole GPU with its audio function beside a card with mdevs; in the second fixture two cards
// whose virtual functions have types of vGPUs; in the third one they need GPU instances first.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { MdevKernel } from '#test/drivers/mdev/kernel.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { GpuInstances } from './gpu-instances.ts';
import { VendorVgpuKernel } from './kernel.ts';

const bus = ['bus/pci/devices', 'class/mdev_bus', 'bus/mdev/devices'];
const [whole, divided] = ['0000:3b:00.0', '0000:5e:00.0'] as const;

export const fixture: DriverFixture = {
  module: ownDriver('nvidia_gpu'),
  settings: {
    cards: [{ addresses: whole }, { addresses: divided, vgpu_type: 'nvidia-1' }],
    made: 'at-bind',
  },
  bus,
  host: () => {
    const tree = aSysfsTree().addFunction({ address: whole, iommuGroup: 7 });
    tree.addFunction({ address: '0000:3b:00.1', classCode: '040300', iommuGroup: 7 });
    tree.addFunction({ address: divided, driver: 'nvidia' });
    const kernel = new MdevKernel(tree);
    kernel.addParent(divided, { capacity: 2, types: { 'nvidia-1': 1, 'nvidia-2': 2 } });
    return {
      root: tree.root,
      hardware: kernel.hardware(),
      objects: () => kernel.uuids(),
      makeForeign: ({ uuid }) => kernel.make(divided, 'nvidia-2', uuid),
      boot: () => kernel.reboot(),
      remove: () => tree.remove(),
    };
  },
};

const cards = ['0000:41:00.0', '0000:c1:00.0'] as const;

export const vendor: DriverFixture = {
  module: ownDriver('nvidia_gpu'),
  settings: {
    cards: [{ addresses: [...cards], vgpu_type: 'nvidia-1147' }],
    attach_unmanaged: true,
  },
  bus,
  host: () => {
    const tree = aSysfsTree();
    const kernel = new VendorVgpuKernel(tree);
    const types = { 1145: ['NVIDIA L40S-1B', 1], 1147: ['NVIDIA L40S-2Q', 2] } as const;
    for (const card of cards) kernel.addCard(card, { memory: 4, types }, 4).enable(card);
    return {
      root: tree.root,
      hardware: kernel.hardware(),
      boot: () => kernel.boot(),
      remove: () => tree.remove(),
    };
  },
};

export const mig: DriverFixture = {
  module: ownDriver('nvidia_gpu'),
  settings: {
    cards: [{ addresses: [...cards], vgpu_type: 'nvidia-1147', gpu_instances: [9, 9] }],
    attach_unmanaged: true,
  },
  bus,
  host: ({ directory, bootId }) => {
    const host = vendor.host({ directory, bootId });
    const instances = new GpuInstances(2);
    const plain = host.hardware?.exec ?? (() => Promise.reject(new Error('no program')));
    return {
      ...host,
      hardware: { ...host.hardware, exec: instances.exec(plain) },
      isReading: (_tool, args) => args.includes('-lgi'),
      boot: () => {
        host.boot?.();
        instances.made.clear();
      },
    };
  },
};
