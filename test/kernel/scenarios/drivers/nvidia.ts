// Driver nvidia_gpu on a real kernel, with a module in the place of NVIDIA's driver: vGPUs that
// are types of virtual functions.

import assert from 'node:assert/strict';
import { type GuestProcess, holdOpen } from '#test/kernel/machine/guest.ts';
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

const devices = '/sys/bus/pci/devices';
const hostname = 'kernel-3.example';
/** Slots of fake_pci. */
const whole = '0001:00:00.0';
const divided = '0001:00:01.0';
const script = '/var/sriov-manage';
/** In the place of NVIDIA's: its `-e` makes all virtual functions of a card. */
const scriptText = `#!/bin/sh
[ "$1" = -e ] || exit 1
cat "${devices}/$2/sriov_totalvfs" > "${devices}/$2/sriov_numvfs"
`;
const servers = { first: '', second: '' };
let agent: GuestProcess | undefined;

async function startAgent(stage: Stage): Promise<void> {
  await stage.guest.save(script, scriptText);
  await stage.guest.run('chmod', '755', script);
  agent = await stage.startAgent({
    drivers: ['nvidia_gpu'],
    nvidia_gpu: {
      cards: [{ addresses: whole }, { addresses: divided, vgpu_type: 'nvidia-558' }],
      attach_unmanaged: true,
      sriov_manage: script,
    },
  });
}

function currentType({ guest }: Stage, address: string): Promise<string> {
  return guest.read(`${devices}/${address}/nvidia/current_vgpu_type`);
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the agent makes the virtual functions, and sets the type on as many as fit',
    run: async (stage) => {
      const { cloud } = stage;
      await startAgent(stage);
      await untilInventory(cloud, `${hostname}_${whole}`, 'PGPU', 1);
      await untilInventory(cloud, `${hostname}_${divided}`, 'VGPU', 2);
      await createFlavor(cloud, 'nvidia-vgpu', {
        'resources:VGPU': '1',
        'trait:CUSTOM_NVIDIA_26B9_FAKE_2Q': 'required',
      });
      await createFlavor(cloud, 'nvidia-gpu', {
        'resources:PGPU': '1',
        'trait:CUSTOM_NVIDIA_20B0': 'required',
      });
    },
  },
  {
    name: 'servers get functions with the type, and a third one finds no room',
    run: async (stage) => {
      servers.first = await createActiveServer(stage.cloud, 'nvidia-vgpu');
      servers.second = await createActiveServer(stage.cloud, 'nvidia-vgpu');
      const functions = [
        await boundFunction(stage.cloud, servers.first),
        await boundFunction(stage.cloud, servers.second),
      ];
      assert.equal(new Set(functions).size, 2);
      for (const each of functions) assert.equal(await currentType(stage, each), '558');
      const third = await createServer(stage.cloud, 'nvidia-vgpu');
      assert.equal(third.status, 'ERROR');
      await deleteServer(stage.cloud, third.id);
    },
  },
  {
    name: 'a function that a program holds open is cleaned, and given on, after its end',
    run: async (stage) => {
      const { cloud, guest } = stage;
      const address = await boundFunction(stage.cloud, servers.second);
      const holder = await holdOpen(guest, `${devices}/${address}`);
      await deleteServer(cloud, servers.second);
      await agent?.line((line) => line.includes('FAILED') && line.includes('EBUSY'));
      assert.equal(await currentType(stage, address), '558');
      await holder.stop();
      await eventually(() => cloud.isClean(hostname), Boolean, 240);
      await untilInventory(cloud, `${hostname}_${divided}`, 'VGPU', 2);
      servers.second = await createActiveServer(stage.cloud, 'nvidia-vgpu');
      assert.equal(await boundFunction(stage.cloud, servers.second), address);
    },
  },
  {
    name: 'after a loss of power a server has the function with its type again',
    run: async (stage) => {
      const address = await boundFunction(stage.cloud, servers.first);
      await stage.powerOff();
      await stage.boot();
      assert.equal(await stage.guest.exists(`${devices}/${address}`), false);
      await startAgent(stage);
      await eventually(
        async () =>
          (await stage.guest.exists(`${devices}/${address}`)) &&
          (await currentType(stage, address)),
        (type) => type === '558',
        120,
      );
      assert.equal(await boundFunction(stage.cloud, servers.first), address);
    },
  },
  {
    name: 'the servers are deleted, and their functions are cleaned and free',
    run: async (stage) => {
      const { cloud } = stage;
      for (const id of Object.values(servers)) await deleteServer(cloud, id);
      await eventually(() => cloud.isClean(hostname), Boolean, 240);
      const next = [
        await createActiveServer(stage.cloud, 'nvidia-vgpu'),
        await createActiveServer(stage.cloud, 'nvidia-vgpu'),
      ];
      next.push(await createActiveServer(stage.cloud, 'nvidia-gpu'));
      for (const id of next) await deleteServer(cloud, id);
      await eventually(() => cloud.isClean(hostname), Boolean, 240);
    },
  },
];

async function prepare({ guest }: Stage): Promise<void> {
  const functions = ['10de:20b0:030200', '10de:26b9:030200:8'];
  await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
  await guest.run('modprobe', 'fake_pci', `devs=${functions}`, 'behind=0000:00:04.0');
  await guest.run('modprobe', 'fake_vgpu', 'cards=10de:26b9=vendor', 'capacity=4', 'types=558:2');
}

export const nvidia: Group = { name: 'NVIDIA', hostname, prepare, scenarios };
