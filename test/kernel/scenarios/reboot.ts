// A host that loses its power while servers have its devices: after the next boot they have them
// again, and nothing leaks.

import assert from 'node:assert/strict';
import { eventually } from '#test/openstack/rest.ts';
import type { Group, Scenario } from '../scenario.ts';
import { arqOf, createFlavor, createServer, deleteServer, untilInventory } from '../servers.ts';
import type { Stage } from '../stage.ts';

const gpu = '0001:00:00.0';
const stateFile = '/var/lib/cyborg-agent/jobs.json';
/** Of the driver fake_gpu. */
const mdevFile = '/var/lib/cyborg-agent/fake-hardware/gpu.json';
interface MdevFile {
  readonly boot_id: string;
  readonly state: { readonly mdevs: readonly { readonly uuid: string }[] };
}
/** Their ids, by the kind of their device. */
const servers = { pci: '', vgpu: '' };

function startAgent(stage: Stage) {
  const allowList = [{ vendor_id: '10de', resource_class: 'PGPU' }];
  return stage.startAgent({ drivers: ['pci', 'fake_gpu'], pci_allow_list: allowList });
}

/** The uuids of the mdevs that the host has; a boot takes them all. */
async function mdevsOf({ guest }: Stage): Promise<string[]> {
  if (!(await guest.exists(mdevFile))) return [];
  const { boot_id, state } = JSON.parse(await guest.read(mdevFile)) as MdevFile;
  return boot_id === guest.bootId ? state.mdevs.map(({ uuid }) => uuid) : [];
}

async function untilMdevs(stage: Stage, uuids: readonly string[]): Promise<void> {
  const wanted = [...uuids].sort().join();
  await eventually(
    () => mdevsOf(stage),
    (found) => [...found].sort().join() === wanted,
    120,
  );
}

const scenarios: readonly Scenario[] = [
  {
    name: 'servers get a GPU and a vGPU',
    run: async (stage) => {
      const { cloud, hostname } = stage;
      await startAgent(stage);
      await untilInventory(cloud, `${hostname}_${gpu}`, 'PGPU', 1);
      await untilInventory(cloud, `${hostname}_0000:0e:00.0_fake-1`, 'VGPU', 4);
      await createFlavor(cloud, 'whole-gpu', {
        'resources:PGPU': '1',
        'trait:CUSTOM_PCI_PRODUCT_ID_20B0': 'required',
      });
      await createFlavor(cloud, 'vgpu', {
        'resources:VGPU': '1',
        'trait:CUSTOM_ABCD_9B01_FAKE_1': 'required',
      });
      for (const [kind, flavor] of [
        ['pci', 'whole-gpu'],
        ['vgpu', 'vgpu'],
      ] as const) {
        const server = await createServer(cloud, flavor);
        assert.equal(server.status, 'ACTIVE');
        servers[kind] = server.id;
      }
      const { attach_handle_uuid } = await arqOf(cloud, servers.vgpu);
      assert.deepEqual(await mdevsOf(stage), [attach_handle_uuid]);
    },
  },
  {
    name: 'after a loss of power the vGPU of the server is reprovisioned with its uuid',
    run: async (stage) => {
      const { cloud } = stage;
      const bootId = stage.guest.bootId;
      const { attach_handle_uuid } = await arqOf(cloud, servers.vgpu);
      await stage.powerOff();
      await stage.boot();
      assert.notEqual(stage.guest.bootId, bootId);
      assert.ok(await stage.guest.exists(stateFile));
      await startAgent(stage);
      await eventually(
        async () => {
          const states = [await arqOf(cloud, servers.vgpu), await arqOf(cloud, servers.pci)];
          return [...states.map(({ state }) => state), ...(await mdevsOf(stage))];
        },
        (found) => found.join() === ['Bound', 'Bound', attach_handle_uuid].join(),
        120,
      );
    },
  },
  {
    name: 'the servers are deleted, and their devices are free',
    run: async (stage) => {
      const { cloud } = stage;
      for (const id of Object.values(servers)) await deleteServer(cloud, id);
      await untilMdevs(stage, []);
      for (const flavor of ['whole-gpu', 'vgpu']) {
        const server = await createServer(cloud, flavor);
        assert.equal(server.status, 'ACTIVE');
        await deleteServer(cloud, server.id);
      }
    },
  },
  {
    name: 'of two servers the one that is deleted while its host is off leaves nothing behind',
    run: async (stage) => {
      const { cloud } = stage;
      const [kept, deleted] = [
        await createServer(cloud, 'vgpu'),
        await createServer(cloud, 'vgpu'),
      ];
      assert.deepEqual([kept.status, deleted.status], ['ACTIVE', 'ACTIVE']);
      const { attach_handle_uuid: uuid } = await arqOf(cloud, kept.id);
      await stage.powerOff();
      await deleteServer(cloud, deleted.id);
      await stage.boot();
      await startAgent(stage);
      await untilMdevs(stage, [uuid]);
      const next = await createServer(cloud, 'vgpu');
      assert.equal(next.status, 'ACTIVE');
      const { attach_handle_uuid: another } = await arqOf(cloud, next.id);
      await untilMdevs(stage, [uuid, another]);
      for (const { id } of [kept, next]) await deleteServer(cloud, id);
      await untilMdevs(stage, []);
    },
  },
];

export const reboot: Group = {
  name: 'reboot',
  hostname: 'kernel-2.example',
  prepare: async ({ guest }: Stage) => {
    const functions = ['10de:20b0:030200'];
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, 'behind=0000:00:04.0');
  },
  scenarios,
};
