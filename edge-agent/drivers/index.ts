// The agent's own drivers. A new driver is a file in this folder and a line here.

import { dirname, join } from 'node:path';
import * as z from 'zod';
import { aiChips } from './by-model/ai-chips.ts';
import { defineModelDriver } from './by-model/driver.ts';
import { inspurFpgas } from './by-model/inspur-fpgas.ts';
import { type DriverContext, type DriverModule, defineDriver } from './contract/define-driver.ts';
import { createFakeFpgaDriver } from './fake/fpga.ts';
import { createFakeGpuDriver } from './fake/gpu.ts';
import type { FakeHardwareDeps } from './fake/hardware.ts';
import { createFakeDriver } from './fake/index.ts';
import { createFpgaManagerDriver } from './fpga-manager/index.ts';
import { fpgaManagerName, fpgaManagerSettings } from './fpga-manager/settings.ts';
import { createGpuVfDriver } from './gpu-vf/index.ts';
import { gpuVfName, gpuVfSettings } from './gpu-vf/settings.ts';
import { createIntelFpgaDriver } from './intel-fpga/index.ts';
import { intelFpgaName, intelFpgaSettings } from './intel-fpga/settings.ts';
import { createMdevDriver } from './mdev/index.ts';
import { mdevSettings } from './mdev/settings.ts';
import { createNicDriver } from './nic/index.ts';
import { nicSettings } from './nic/settings.ts';
import { createNvidiaDriver } from './nvidia/index.ts';
import { nvidiaName, nvidiaSettings } from './nvidia/settings.ts';
import { createNvmeDriver } from './nvme/index.ts';
import { nvmeSettings } from './nvme/settings.ts';
import { pciAllowList } from './pci/allow-list.ts';
import { createPciDriver } from './pci/index.ts';
import { fabricManager } from './pci/partitions.ts';
import { pciPools } from './pci/pools.ts';
import { createQatDriver } from './qat/index.ts';
import { qatSettings } from './qat/settings.ts';
import { createXilinxDriver } from './xilinx-fpga/index.ts';
import { xilinxName, xilinxSettings } from './xilinx-fpga/settings.ts';

const pciSettings = z.strictObject({
  allow_list: pciAllowList.refine(
    (entries) => entries.length > 0,
    'must say which devices driver pci may offer',
  ),
  pools: pciPools,
  fabric_manager: fabricManager.prefault({}),
});

/** One folder for all fakes, because one file has the faults of all. */
function fakeHardware({ directory, bootId }: DriverContext): FakeHardwareDeps {
  return { directory: join(dirname(directory), 'fake-hardware'), bootId };
}

export const ownDrivers: readonly DriverModule[] = [
  defineDriver({ name: 'fake', create: createFakeDriver }),
  defineDriver({
    name: 'pci',
    settings: pciSettings,
    create: ({ allow_list: allowList, pools, fabric_manager: fabricManager }, context) =>
      createPciDriver({ ...context, allowList, pools, fabricManager, namesMissing: true }),
  }),
  defineDriver({
    name: 'mdev',
    settings: mdevSettings,
    create: (settings, context) => createMdevDriver(settings, context),
  }),
  defineDriver({ name: nvidiaName, settings: nvidiaSettings, create: createNvidiaDriver }),
  defineModelDriver(aiChips),
  defineModelDriver(inspurFpgas),
  defineDriver({ name: gpuVfName, settings: gpuVfSettings, create: createGpuVfDriver }),
  defineDriver({ name: xilinxName, settings: xilinxSettings, create: createXilinxDriver }),
  defineDriver({ name: 'nvme', settings: nvmeSettings, create: createNvmeDriver }),
  defineDriver({ name: 'nic', settings: nicSettings, create: createNicDriver }),
  defineDriver({ name: intelFpgaName, settings: intelFpgaSettings, create: createIntelFpgaDriver }),
  defineDriver({
    name: fpgaManagerName,
    settings: fpgaManagerSettings,
    create: createFpgaManagerDriver,
  }),
  defineDriver({ name: 'qat', settings: qatSettings, create: createQatDriver }),
  defineDriver({
    name: 'fake_fpga',
    create: (_, context) => createFakeFpgaDriver(fakeHardware(context)),
  }),
  defineDriver({
    name: 'fake_gpu',
    create: (_, context) => createFakeGpuDriver(fakeHardware(context)),
  }),
];
