// Driver gpu_vf on a real kernel, with a module in the place of Intel's xe: virtual functions with
// the shares that the settings give them.

import assert from 'node:assert/strict';
import { errorOf } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  boundFunction,
  createActiveServer,
  createFlavor,
  createServer,
  deleteServer,
  untilInventory,
} from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const hostname = 'kernel-3.example';
/** Slot of fake_pci. */
const gpu = '0001:00:00.0';
const device = `/sys/bus/pci/devices/${gpu}`;
const admin = `${device}/sriov_admin`;
const gibibyte = 2 ** 30;
const servers = { first: '' };

const settings = {
  drivers: ['gpu_vf'],
  gpu_vf: {
    cards: [
      {
        addresses: gpu,
        virtual_functions: 2,
        name: 'half',
        profile: { vram_mib: 4096, exec_quantum_ms: 20, sched_priority: 'normal' },
      },
    ],
  },
};

function share({ guest }: Stage, number: number, file: string): Promise<string> {
  return guest.read(`${admin}/vf${number}/profile/${file}`);
}

const scenarios: readonly Scenario[] = [
  {
    name: 'shares are refused as in the ABI, and are equal where none was given',
    run: async (stage) => {
      const { guest } = stage;
      const write = (file: string, text: string) => errorOf(guest.write(`${admin}/${file}`, text));
      assert.equal(await write('vf1/profile/vram_quota', 'much'), 'EINVAL');
      assert.equal(await write('vf1/profile/vram_quota', String(64 * gibibyte)), 'EIO');
      assert.equal(await write('.bulk_profile/sched_priority', 'high'), 'EINVAL');
      await guest.write(`${device}/sriov_drivers_autoprobe`, '0');
      await guest.write(`${device}/sriov_numvfs`, '4');
      assert.equal(await share(stage, 4, 'vram_quota'), String(4 * gibibyte));
      assert.equal(await guest.link(`${admin}/vf1/device`), await guest.link(`${device}/virtfn0`));
      await guest.write(`${device}/sriov_numvfs`, '0');
      assert.equal(await share(stage, 4, 'vram_quota'), '0');
    },
  },
  {
    name: 'the agent writes the shares, then makes the functions, and binds them to VFIO',
    run: async (stage) => {
      const { guest, cloud } = stage;
      const agent = await stage.startAgent(settings);
      await untilInventory(cloud, `${hostname}_${gpu}`, 'VGPU', 2);
      for (const number of [1, 2]) {
        assert.equal(await share(stage, number, 'vram_quota'), String(4 * gibibyte));
        // The module has set another time when it made the functions.
        assert.equal(await share(stage, number, 'exec_quantum_ms'), '20');
        assert.equal(await share(stage, number, 'sched_priority'), 'low [normal]');
        assert.equal(await guest.link(`${admin}/vf${number}/device/driver`), 'vfio-pci');
      }
      const changes = agent.lines.filter((line) => line.includes('"Host changed"'));
      const what = changes.map((line) => String(JSON.parse(line).what));
      assert.deepEqual(what.slice(0, 2), [
        'profile of virtual functions',
        'number of virtual functions',
      ]);
      assert.ok(what.includes('scheduling of virtual functions'));
    },
  },
  {
    name: 'a server gets a function by the name of its share, which is reset after it',
    run: async (stage) => {
      const { cloud } = stage;
      await createFlavor(cloud, 'intel-vgpu', {
        'resources:VGPU': '1',
        'trait:CUSTOM_INTEL_E211_HALF': 'required',
      });
      const id = await createActiveServer(cloud, 'intel-vgpu');
      const address = await boundFunction(stage.cloud, id);
      assert.match(address, /^0001:01:00\.[01]$/);
      const resets = async () =>
        Number(await stage.guest.read('/sys/module/fake_pci/parameters/resets'));
      const before = await resets();
      await deleteServer(cloud, id);
      await eventually(() => cloud.isClean(hostname), Boolean, 240);
      assert.ok((await resets()) > before);
      await untilInventory(cloud, `${hostname}_${gpu}`, 'VGPU', 2);
    },
  },
  {
    name: 'after a loss of power a server has its function again, with its share',
    run: async (stage) => {
      servers.first = (await createServer(stage.cloud, 'intel-vgpu')).id;
      const address = await boundFunction(stage.cloud, servers.first);
      await stage.powerOff();
      await stage.boot();
      assert.equal(await stage.guest.exists(`/sys/bus/pci/devices/${address}`), false);
      await stage.startAgent(settings);
      await untilInventory(stage.cloud, `${hostname}_${gpu}`, 'VGPU', 2);
      assert.equal(await boundFunction(stage.cloud, servers.first), address);
      const number = Number(address.at(-1)) + 1;
      assert.equal(await share(stage, number, 'vram_quota'), String(4 * gibibyte));
      assert.equal(await share(stage, number, 'exec_quantum_ms'), '20');
      await deleteServer(stage.cloud, servers.first);
      await eventually(() => stage.cloud.isClean(hostname), Boolean, 240);
    },
  },
];

export const gpuVf: Group = {
  name: 'GPU VF',
  hostname,
  prepare: async ({ guest }: Stage) => {
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
    const functions = ['devs=8086:e211:030000:4', 'behind=0000:00:04.0'];
    await guest.run('modprobe', 'fake_pci', ...functions);
    await guest.run('modprobe', 'fake_xe', 'card=8086:e211', 'vram_mib=16384', 'quantum_ms=32');
  },
  scenarios,
};
