// docs/device-profiles.md has a row for each driver of Cyborg: the provider's name, the resource
// class and the traits by which profiles written for Cyborg match here. Each row is what our
// driver reports; where Cyborg's providers are others, the page says so below its table.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { planDevice } from '#core/domain/report/device-plan.ts';
import { discovered } from '#test/support/reports.ts';
import { fixture as inspur } from './by-model/inspur-fpga.fixture.ts';
import { fixture as fake } from './fake/fake.fixture.ts';
import type { DriverFixture } from './fixture.ts';
import { several as intel } from './intel-fpga/fixture.ts';
import { fixture as nic } from './nic/fixture.ts';
import { fixture as nvidia } from './nvidia/fixture.ts';
import { fixture as nvme } from './nvme/fixture.ts';
import { fixture as pci } from './pci/fixture.ts';
import { fixture as qat } from './qat/fixture.ts';
import { Trial } from './trial.ts';
import { fixture as xilinx } from './xilinx-fpga/fixture.ts';

const documented = readFileSync(new URL('../../docs/device-profiles.md', import.meta.url), 'utf8');

async function providersOf(fixture: DriverFixture) {
  const trial = new Trial(fixture);
  try {
    await trial.start();
    const { devices } = await trial.discover();
    return devices.flatMap(({ device }) => {
      const plan = planDevice('cmp1', undefined, discovered(device), '2026-07-01T00:00:00.000Z');
      return plan.deployables;
    });
  } finally {
    trial.remove();
  }
}

const owned = 'OWNER_CYBORG';
const region = 'CUSTOM_FPGA_REGION_INTEL_9926AB6D6C925A68AABCA7D84C545738';
const arria = 'CUSTOM_FPGA_INTEL_PAC_ARRIA10';
const loaded = 'CUSTOM_FPGA_FUNCTION_ID_INTEL_D8424DC4A4A3C413F89E433683F9040B';

/** The driver of Cyborg in the table of the page, and our provider with its class and traits. */
type Named = [string, DriverFixture, provider: string, resourceClass: string, ...string[]];

it.each<Named>([
  ['fake_driver', fake, 'FakeDevice', 'FPGA', 'CUSTOM_FAKE_DEVICE'],
  ['nvidia_gpu_driver', nvidia, '0000:3b:00.0', 'PGPU', owned, 'CUSTOM_NVIDIA_2235'],
  ['nvidia_gpu_driver', nvidia, '0000:5e:00.0', 'VGPU', owned, 'CUSTOM_NVIDIA_2235_NVIDIA_1'],
  // The entry of the fixture has a class of its own; without one it is CUSTOM_PCI.
  ['pci_driver', pci, '0000:3b:00.0', 'PGPU', 'CUSTOM_PCI_NVIDIA', 'CUSTOM_PCI_PRODUCT_ID_2235'],
  ['pci_driver', pci, '0000:3b:00.0', 'PGPU', owned],
  ['intel_fpga_driver', intel, '0000:5e:00.0_region0', 'FPGA', owned, 'CUSTOM_FPGA_INTEL', arria],
  ['intel_fpga_driver', intel, '0000:5e:00.0_region0', 'FPGA', region, loaded],
  ['inspur_fpga_driver', inspur, '0000:3b:00.0', 'FPGA', 'CUSTOM_FPGA_INSPUR'],
  ['inspur_fpga_driver', inspur, '0000:3b:00.0', 'FPGA', 'CUSTOM_FPGA_PRODUCT_ID_0911'],
  ['inspur_nvme_ssd_driver', nvme, '0000:c1:00.0', 'CUSTOM_SSD', 'CUSTOM_SSD_PRODUCT_ID_A80A'],
  ['inspur_nvme_ssd_driver', nvme, '0000:c1:00.0', 'CUSTOM_SSD', owned],
  ['intel_nic_driver', nic, '0000:3d:00.0', 'CUSTOM_NIC', 'CUSTOM_PF', 'CUSTOM_GTPV1'],
  ['intel_nic_driver', nic, '0000:3d:00.0', 'CUSTOM_NIC', 'CUSTOM_PHYSNET2'],
  ['intel_nic_driver', nic, '0000:5e:00.0', 'CUSTOM_NIC', 'CUSTOM_VF', 'CUSTOM_PHYSNET1'],
  ['intel_qat_driver', qat, '0000:6b:00.0', 'CUSTOM_QAT', owned, 'CUSTOM_QAT_C62X'],
  ['xilinx_fpga_driver', xilinx, '0000:d8:00.0_region0', 'FPGA', owned, 'CUSTOM_FPGA_XILINX'],
  ['xilinx_fpga_driver', xilinx, '0000:d8:00.0_region0', 'FPGA', 'CUSTOM_FPGA_PRODUCT_ID_5004'],
])(
  'row %$: a provider of %s has the same class and traits',
  async (cyborg, fixture, provider, resourceClass, ...traits) => {
    const reported = (await providersOf(fixture)).find(({ name }) => name === `cmp1_${provider}`);
    expect(reported?.resourceClass).toBe(resourceClass);
    expect(reported?.traits).toEqual(expect.arrayContaining(traits));
    expect(documented).toContain(`| \`${cyborg}\` |`);
  },
);
