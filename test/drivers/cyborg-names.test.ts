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

interface Named {
  /** In the documentation's table. */
  readonly cyborg: string;
  readonly fixture: DriverFixture;
  readonly provider: string;
  readonly resourceClass: string;
  readonly traits: readonly string[];
}

it.each<Named>([
  {
    ...{ cyborg: 'fake_driver', fixture: fake, provider: 'cmp1_FakeDevice' },
    ...{ resourceClass: 'FPGA', traits: ['CUSTOM_FAKE_DEVICE'] },
  },
  {
    ...{ cyborg: 'nvidia_gpu_driver', fixture: nvidia, provider: 'cmp1_0000:3b:00.0' },
    ...{ resourceClass: 'PGPU', traits: ['OWNER_CYBORG', 'CUSTOM_NVIDIA_2235'] },
  },
  {
    ...{ cyborg: 'nvidia_gpu_driver', fixture: nvidia, provider: 'cmp1_0000:5e:00.0' },
    ...{ resourceClass: 'VGPU', traits: ['OWNER_CYBORG', 'CUSTOM_NVIDIA_2235_NVIDIA_1'] },
  },
  {
    ...{ cyborg: 'pci_driver', fixture: pci, provider: 'cmp1_0000:3b:00.0' },
    // The entry of the fixture has a class of its own; without one it is CUSTOM_PCI.
    resourceClass: 'PGPU',
    traits: ['OWNER_CYBORG', 'CUSTOM_PCI_NVIDIA', 'CUSTOM_PCI_PRODUCT_ID_2235'],
  },
  {
    ...{ cyborg: 'intel_fpga_driver', fixture: intel, provider: 'cmp1_0000:5e:00.0_region0' },
    ...{
      resourceClass: 'FPGA',
      traits: [
        ...['OWNER_CYBORG', 'CUSTOM_FPGA_INTEL', 'CUSTOM_FPGA_INTEL_PAC_ARRIA10'],
        'CUSTOM_FPGA_REGION_INTEL_9926AB6D6C925A68AABCA7D84C545738',
        'CUSTOM_FPGA_FUNCTION_ID_INTEL_D8424DC4A4A3C413F89E433683F9040B',
      ],
    },
  },
  {
    ...{ cyborg: 'inspur_fpga_driver', fixture: inspur, provider: 'cmp1_0000:3b:00.0' },
    ...{ resourceClass: 'FPGA', traits: ['CUSTOM_FPGA_INSPUR', 'CUSTOM_FPGA_PRODUCT_ID_0911'] },
  },
  {
    ...{ cyborg: 'inspur_nvme_ssd_driver', fixture: nvme, provider: 'cmp1_0000:c1:00.0' },
    ...{
      resourceClass: 'CUSTOM_SSD',
      traits: ['OWNER_CYBORG', 'CUSTOM_SSD_PRODUCT_ID_A80A'],
    },
  },
  {
    ...{ cyborg: 'intel_nic_driver', fixture: nic, provider: 'cmp1_0000:3d:00.0' },
    resourceClass: 'CUSTOM_NIC',
    traits: ['CUSTOM_PF', 'CUSTOM_GTPV1', 'CUSTOM_PHYSNET2'],
  },
  {
    ...{ cyborg: 'intel_nic_driver', fixture: nic, provider: 'cmp1_0000:5e:00.0' },
    ...{ resourceClass: 'CUSTOM_NIC', traits: ['CUSTOM_VF', 'CUSTOM_PHYSNET1'] },
  },
  {
    ...{ cyborg: 'intel_qat_driver', fixture: qat, provider: 'cmp1_0000:6b:00.0' },
    ...{ resourceClass: 'CUSTOM_QAT', traits: ['OWNER_CYBORG', 'CUSTOM_QAT_C62X'] },
  },
  {
    ...{ cyborg: 'xilinx_fpga_driver', fixture: xilinx, provider: 'cmp1_0000:d8:00.0_region0' },
    resourceClass: 'FPGA',
    traits: ['OWNER_CYBORG', 'CUSTOM_FPGA_XILINX', 'CUSTOM_FPGA_PRODUCT_ID_5004'],
  },
])('$provider of $cyborg has the same class and traits', async (named) => {
  const { cyborg, fixture, provider, resourceClass, traits } = named;
  const found = (await providersOf(fixture)).find(({ name }) => name === provider);
  expect(found?.resourceClass).toBe(resourceClass);
  expect(found?.traits).toEqual(expect.arrayContaining([...traits]));
  expect(documented).toContain(`| \`${cyborg}\` |`);
});
