// Cards of Intel on the kernel's xe, with shares that the settings give; in the second fixture one
// on Intel's i915 and one of AMD on gim. Kernel, drivers and cards are simulated.

import { type DriverFixture, type FixtureHost, simulatedHost } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { GpuVfKernel } from './kernel.ts';

const bus = ['bus/pci/devices'];
const [first, second] = ['0000:3b:00.0', '0000:5e:00.0'] as const;

function host(add: (kernel: GpuVfKernel) => void): FixtureHost {
  const tree = aSysfsTree();
  const kernel = new GpuVfKernel(tree);
  kernel.resetReads = 1;
  add(kernel);
  return simulatedHost(tree, kernel);
}

export const fixture: DriverFixture = {
  module: ownDriver('gpu_vf'),
  bus,
  settings: {
    cards: [
      {
        addresses: [first, second],
        virtual_functions: 2,
        profile: { vram_mib: 4096, exec_quantum_ms: 20, sched_priority: 'normal' },
      },
    ],
  },
  host: () =>
    host((kernel) => {
      kernel.add('xe', { address: first }).add('xe', { address: second });
      kernel.setsScheduling = true;
    }),
};

export const others: DriverFixture = {
  module: ownDriver('gpu_vf'),
  bus,
  settings: {
    cards: [
      { addresses: first, virtual_functions: 2, profile: { preempt_timeout_us: 64000 } },
      { addresses: second, virtual_functions: 4, profile: { memory_partition: 'NPS4' } },
    ],
  },
  host: () =>
    host((kernel) => {
      kernel.add('i915', { address: first }).add('gim', { address: second });
    }),
};
