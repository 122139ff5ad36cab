// The first compute node: the agent starts before nova-compute.

import assert from 'node:assert/strict';
import { providerNames } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import { offer, putImage } from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const fpga = { 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' };
/** A group of vGPUs, whose mdevs the host makes. The fake GPU can hold two of this type. */
const vgpu = (count: number) => ({
  'resources:VGPU': String(count),
  'trait:CUSTOM_ABCD_9B01_FAKE_2': 'required',
});

export const setUp: readonly Scenario[] = [
  {
    name: 'an agent may report before nova-compute has ever started',
    run: async (stage) => {
      const { devices } = await eventually(
        async () => (await stage.admin.accelerator.ask('GET', '/devices')).body,
        ({ devices }) => devices.length === 3,
      );
      assert.deepEqual(await providerNames(stage), []);
      await stage.cloud.startCompute();
      const names = await eventually(
        () => providerNames(stage),
        (found) => found.length === 7,
      );
      await mapHost(stage);
      return `${devices.length} devices reported; below the compute node: ${names.slice(1).join(', ')}`;
    },
  },
  {
    name: 'the command of the guide prints the tree of providers',
    run: async (stage) => (await stage.guide('tree')).trim(),
  },
  {
    name: 'an operator offers accelerators in four flavors',
    run: async (stage) => {
      await offer(stage, 'fpga', [fpga]);
      await offer(stage, 'vgpu', [vgpu(1)]);
      await offer(stage, 'fpga-and-vgpu', [fpga, vgpu(1)]);
      await offer(stage, 'all-vgpus', [vgpu(2)]);
      return '';
    },
  },
];

/** Waits until the scheduler has mapped the compute node; before that no server can be built. */
export async function mapHost(stage: Stage): Promise<void> {
  await eventually(
    () => stage.admin.nova.try('GET', '/os-hypervisors'),
    ({ status, body }) => status === 200 && body.hypervisors.length === 1,
  );
  await putImage(stage, 'cirros', new Uint8Array(4096));
}
