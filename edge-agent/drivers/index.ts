// The list of drivers. A new driver is a file in this folder and a line here.

import type { Guards } from '#agent/guards/guards.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import type { Log } from '#agent/log.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { Driver } from './driver.ts';
import { createFakeDriver } from './fake.ts';
import { createFakeFpgaDriver } from './fake-fpga.ts';
import { createFakeGpuDriver } from './fake-gpu.ts';
import type { FakeHardwareDeps } from './fake-hardware.ts';
import { createPciDriver } from './pci.ts';
import type { AllowListEntry } from './pci-allow-list.ts';

export interface DriverDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
  readonly guards: Guards;
  readonly pciAllowList: readonly AllowListEntry[];
  readonly fakeHardware: FakeHardwareDeps;
  readonly log: Log;
}

export const driverNames = ['fake', 'pci', 'fake_fpga', 'fake_gpu'] as const;
export type DriverName = (typeof driverNames)[number];

const constructors: Readonly<Record<DriverName, (deps: DriverDeps) => Driver>> = {
  fake: createFakeDriver,
  pci: ({ pciAllowList, ...deps }) => createPciDriver({ ...deps, allowList: pciAllowList }),
  fake_fpga: ({ fakeHardware }) => createFakeFpgaDriver(fakeHardware),
  fake_gpu: ({ fakeHardware }) => createFakeGpuDriver(fakeHardware),
};

export function createDriver(name: DriverName, deps: DriverDeps): Driver {
  return constructors[name](deps);
}
