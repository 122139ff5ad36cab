// A host that loses its power while servers have its devices: after the next boot they have them
// again, and nothing leaks. The mdevs are the kernel's, on physical and on virtual functions.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { holdOpen } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  arqOf,
  createActiveServer,
  createFlavor,
  deleteServer,
  untilInventory,
} from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const devices = '/sys/bus/pci/devices';
const mdevs = '/sys/bus/mdev/devices';
/** Slots of fake_pci: one offered whole, two whose cards are divided. */
const gpu = '0001:00:00.0';
const onPhysical = '0001:00:01.0';
const onVirtual = '0001:00:02.0';
const stateFile = '/var/lib/cyborg-agent/sequence.json';
/** Ids of servers, by their flavor. */
const servers = { whole: '', physical: '', virtual: '' };

const flavors = {
  whole: { 'resources:PGPU': '1', 'trait:CUSTOM_PCI_PRODUCT_ID_20B0': 'required' },
  physical: { 'resources:VGPU': '1', 'trait:CUSTOM_10DE_1EB8_NVIDIA_558': 'required' },
  virtual: { 'resources:VGPU': '1', 'trait:CUSTOM_10DE_2235_NVIDIA_557': 'required' },
} as const;

function startAgent(stage: Stage) {
  return stage.startAgent({
    drivers: ['pci', 'mdev'],
    pci: { allow_list: [{ vendor_id: '10de', product_id: '20b0', resource_class: 'PGPU' }] },
    mdev: {
      pools: [
        { parents: onPhysical, type: 'nvidia-558' },
        { parents: onVirtual, type: 'nvidia-557' },
      ],
    },
  });
}

/** Waits until the servers' ARQs are Bound and the host has their mdevs, of the right types. */
async function untilAttached(stage: Stage, ids: readonly string[]): Promise<void> {
  await eventually(
    async () => {
      const arqs = await Promise.all(ids.map((id) => arqOf(stage.cloud, id)));
      const existing = await stage.guest.list(mdevs);
      return arqs.map((arq) => {
        const isThere =
          arq.attach_handle_type === 'PCI' || existing.includes(arq.attach_handle_uuid);
        return `${arq.state} ${isThere}`;
      });
    },
    (found) => found.every((each) => each === 'Bound true'),
    120,
  );
}

/** Lists as nova-compute does until the ARQ is Bound; then its mdev must be there. */
async function untilBoundForNova(stage: Stage, server: string): Promise<void> {
  const { attach_handle_uuid: uuid } = await eventually(
    () => arqOf(stage.cloud, server),
    ({ state }) => state === 'Bound',
    120,
  );
  assert.ok((await stage.guest.list(mdevs)).includes(uuid));
}

const hostname = 'kernel-2.example';

const scenarios: readonly Scenario[] = [
  {
    name: 'servers get a GPU, a vGPU of a physical function and one of a virtual function',
    run: async (stage) => {
      const { cloud, guest, hostname } = stage;
      await startAgent(stage);
      await untilInventory(cloud, `${hostname}_${gpu}`, 'PGPU', 1);
      await untilInventory(cloud, `${hostname}_${onPhysical}`, 'VGPU', 2);
      await untilInventory(cloud, `${hostname}_${onVirtual}`, 'VGPU', 4);
      for (const flavor of ['whole', 'physical', 'virtual'] as const) {
        await createFlavor(cloud, flavor, flavors[flavor]);
        servers[flavor] = await createActiveServer(cloud, flavor);
      }
      await untilAttached(stage, Object.values(servers));
      const { attach_handle_uuid } = await arqOf(cloud, servers.virtual);
      assert.equal(await guest.link(`${mdevs}/${attach_handle_uuid}/mdev_type`), 'nvidia-557');
    },
  },
  {
    name: 'after a loss of power the servers have the vGPUs with the same uuids',
    run: async (stage) => {
      const { bootId } = stage.guest;
      await stage.powerOff();
      await stage.boot();
      assert.notEqual(stage.guest.bootId, bootId);
      assert.ok(await stage.guest.exists(stateFile));
      assert.deepEqual(await stage.guest.list(mdevs), []);
      await startAgent(stage);
      await untilAttached(stage, Object.values(servers));
    },
  },
  {
    name: 'a nova-compute that starts before the agent waits for vGPUs, and gets none that is not there',
    run: async (stage) => {
      await stage.powerOff();
      await stage.boot();
      const { guest, cloud } = stage;
      // Mdevs of another program leave no room for that of the server.
      const taken = [randomUUID(), randomUUID()];
      const types = `/sys/class/mdev_bus/${onPhysical}/mdev_supported_types`;
      for (const uuid of taken) await guest.write(`${types}/nvidia-558/create`, uuid);
      await Promise.all([untilBoundForNova(stage, servers.virtual), startAgent(stage)]);
      await eventually(
        () => cloud.incidentsOf(hostname),
        (reasons) => reasons.some((each) => taken.some((uuid) => each.includes(uuid))),
        120,
      );
      assert.equal((await arqOf(cloud, servers.physical)).state, 'provisioning');
      for (const uuid of taken) await guest.write(`${mdevs}/${uuid}/remove`, '1');
      await untilBoundForNova(stage, servers.physical);
      await untilAttached(stage, Object.values(servers));
    },
  },
  {
    name: 'the servers are deleted, and all devices of their cards are free',
    run: async (stage) => {
      const { cloud } = stage;
      for (const id of Object.values(servers)) await deleteServer(cloud, id);
      const all = ['whole', 'physical', 'physical', 'virtual', 'virtual', 'virtual', 'virtual'];
      const ids: string[] = [];
      for (const flavor of all)
        ids.push(await createActiveServer(cloud, flavor as keyof typeof flavors));
      await untilAttached(stage, ids);
      for (const id of ids) await deleteServer(cloud, id);
    },
  },
  {
    name: 'a vGPU that a program holds open blocks neither another one nor another card',
    run: async (stage) => {
      const { cloud, guest } = stage;
      const id = await createActiveServer(cloud, 'physical');
      await untilAttached(stage, [id]);
      // Otherwise the other vGPU of the card would wait behind the one that blocks.
      await eventually(() => cloud.isClean(hostname), Boolean, 120);
      const { attach_handle_uuid: uuid } = await arqOf(cloud, id);
      const holder = await holdOpen(guest, `${mdevs}/${uuid}`);
      await deleteServer(cloud, id);
      const others = [
        await createActiveServer(cloud, 'virtual'),
        await createActiveServer(cloud, 'physical'),
      ];
      await untilAttached(stage, others);
      await holder.stop();
      // The vGPU is recreated, and a server gets it.
      others.push(await createActiveServer(cloud, 'physical'));
      await untilAttached(stage, others);
      for (const other of others) await deleteServer(cloud, other);
      await eventually(() => cloud.isClean(hostname), Boolean, 120);
    },
  },
  {
    name: 'of two servers the one that is deleted while its host is off leaves nothing behind',
    run: async (stage) => {
      const { cloud } = stage;
      const kept = await createActiveServer(cloud, 'physical');
      const deleted = await createActiveServer(cloud, 'physical');
      await stage.powerOff();
      await deleteServer(cloud, deleted);
      await stage.boot();
      await startAgent(stage);
      await untilAttached(stage, [kept]);
      const next = await createActiveServer(cloud, 'physical');
      await untilAttached(stage, [kept, next]);
      for (const id of [kept, next]) await deleteServer(cloud, id);
    },
  },
];

export const reboot: Group = {
  name: 'reboot',
  hostname,
  prepare: async ({ guest }: Stage) => {
    const functions = ['10de:20b0:030200', '10de:1eb8:030200', '10de:2235:030200:8'];
    const cards = ['10de:1eb8=pf', '10de:2235=vf'];
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, 'behind=0000:00:04.0');
    await guest.run('modprobe', 'fake_vgpu', `cards=${cards}`, 'capacity=4', 'types=557:1,558:2');
    await guest.write(`${devices}/${onVirtual}/sriov_numvfs`, '8');
  },
  scenarios,
};
