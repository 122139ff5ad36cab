// mdevs and NVIDIA's vGPU types: what the kernel does, with modules in place of vendors' drivers.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { errorOf, type Guest, holdOpen } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import type { Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const devices = '/sys/bus/pci/devices';
const mdevs = '/sys/bus/mdev/devices';
/** Slots of fake_pci, and how their cards are divided. */
const pf = '0001:00:00.0';
const vf = '0001:00:01.0';
const vendor = '0001:00:02.0';
const parameters = '/sys/module/fake_vgpu/parameters';
const header = 'ID    : vGPU Name';

const typesOf = (parent: string) => `/sys/class/mdev_bus/${parent}/mdev_supported_types`;

async function left(guest: Guest, parent: string, type: string): Promise<number> {
  return Number(await guest.read(`${typesOf(parent)}/${type}/available_instances`));
}

function create(guest: Guest, parent: string, type: string, uuid: string): Promise<void> {
  return guest.write(`${typesOf(parent)}/${type}/create`, uuid);
}

function remove(guest: Guest, uuid: string): Promise<void> {
  return guest.write(`${mdevs}/${uuid}/remove`, '1');
}

async function virtualFunctions(guest: Guest, card: string): Promise<string[]> {
  const links = (await guest.list(`${devices}/${card}`)).filter((name) => /^virtfn/.test(name));
  return Promise.all(links.map((name) => guest.link(`${devices}/${card}/${name}`)));
}

const scenarios: readonly Scenario[] = [
  {
    name: 'types of a physical function share its capacity',
    run: async ({ guest }) => {
      assert.deepEqual(await guest.list(typesOf(pf)), ['nvidia-557', 'nvidia-558']);
      assert.equal(await guest.read(`${typesOf(pf)}/nvidia-558/device_api`), 'vfio-pci');
      assert.equal(await guest.read(`${typesOf(pf)}/nvidia-558/name`), 'NVIDIA FAKE-2Q');
      const both = async () => [
        await left(guest, pf, 'nvidia-557'),
        await left(guest, pf, 'nvidia-558'),
      ];
      assert.deepEqual(await both(), [4, 2]);
      const [first, second] = [randomUUID(), randomUUID()];
      await create(guest, pf, 'nvidia-558', first);
      assert.deepEqual(await both(), [2, 1]);
      assert.equal(await guest.link(`${mdevs}/${first}/mdev_type`), 'nvidia-558');
      const group = await guest.link(`${mdevs}/${first}/iommu_group`);
      assert.ok(await guest.exists(`/dev/vfio/${group}`));
      await create(guest, pf, 'nvidia-558', second);
      assert.equal(await errorOf(create(guest, pf, 'nvidia-557', randomUUID())), 'ENOSPC');
      for (const uuid of [first, second]) await remove(guest, uuid);
      assert.deepEqual(await both(), [4, 2]);
    },
  },
  {
    name: 'a uuid is unique in the host and is listed in lower case',
    run: async ({ guest }) => {
      const uuid = randomUUID();
      await create(guest, pf, 'nvidia-557', uuid.toUpperCase());
      assert.deepEqual(await guest.list(mdevs), [uuid]);
      assert.equal(await errorOf(create(guest, pf, 'nvidia-557', uuid)), 'EEXIST');
      assert.equal(await errorOf(create(guest, 'mtty', 'mtty-1', uuid)), 'EEXIST');
      assert.equal(await errorOf(create(guest, pf, 'nvidia-557', 'not a uuid')), 'EINVAL');
      assert.equal(await errorOf(remove(guest, uuid)), 'none');
      assert.equal(await errorOf(remove(guest, uuid)), 'ENOENT');
    },
  },
  {
    name: "the kernel's sample has a parent that is not a PCI device, and no description",
    run: async ({ guest }) => {
      const uuid = randomUUID();
      assert.equal(await left(guest, 'mtty', 'mtty-2'), 12);
      await create(guest, 'mtty', 'mtty-2', uuid);
      assert.equal(await left(guest, 'mtty', 'mtty-1'), 22);
      const description = `${typesOf('mtty')}/mtty-2/description`;
      assert.equal(await errorOf(guest.read(description)), 'ENOENT');
      await remove(guest, uuid);
    },
  },
  {
    name: 'the removal of an mdev waits as long as a program has it open',
    run: async ({ guest }) => {
      const uuid = randomUUID();
      await create(guest, pf, 'nvidia-557', uuid);
      const holder = await holdOpen(guest, `${mdevs}/${uuid}`);
      // One of two removals begins; the kernel refuses the other one at once.
      const removals = [errorOf(remove(guest, uuid)), errorOf(remove(guest, uuid))];
      const refused = await Promise.race(removals);
      assert.ok(['EAGAIN', 'ENODEV', 'ENOENT'].includes(refused), refused);
      // Meanwhile the mdev is in no list any more, but is there and takes its part of the card.
      await eventually(
        () => guest.list(mdevs),
        (found) => found.length === 0,
      );
      assert.ok(await guest.exists(`${devices}/${pf}/${uuid}`));
      assert.equal(await left(guest, pf, 'nvidia-557'), 3);
      await holder.stop();
      assert.deepEqual((await Promise.all(removals)).sort(), [refused, 'none']);
      assert.equal(await left(guest, pf, 'nvidia-557'), 4);
    },
  },
  {
    name: 'virtual functions appear as parents of one mdev each, and share the capacity of the card',
    run: async ({ guest }) => {
      assert.equal(await guest.exists(`${devices}/${vf}/mdev_supported_types`), false);
      await guest.write(`${devices}/${vf}/sriov_numvfs`, '8');
      const parents = await virtualFunctions(guest, vf);
      assert.equal(parents.length, 8);
      const [first = '', second = '', third = ''] = parents;
      assert.equal(await left(guest, first, 'nvidia-558'), 1);
      const uuids = [randomUUID(), randomUUID()];
      await create(guest, first, 'nvidia-558', uuids[0] ?? '');
      assert.equal(await left(guest, first, 'nvidia-557'), 0);
      assert.equal(await errorOf(create(guest, first, 'nvidia-557', randomUUID())), 'ENOSPC');
      await create(guest, second, 'nvidia-558', uuids[1] ?? '');
      // The card is full, so the other functions have no room.
      assert.equal(await left(guest, third, 'nvidia-557'), 0);
      for (const uuid of uuids) await remove(guest, uuid);
      assert.equal(await left(guest, third, 'nvidia-557'), 1);
    },
  },
  {
    name: 'the first instance decides the type of its card where types cannot be mixed',
    run: async ({ guest }) => {
      const [first = '', second = ''] = await virtualFunctions(guest, vf);
      await guest.write(`${parameters}/mixed`, '0');
      const uuid = randomUUID();
      await create(guest, first, 'nvidia-557', uuid);
      const room = [
        await left(guest, second, 'nvidia-557'),
        await left(guest, second, 'nvidia-558'),
      ];
      assert.deepEqual(room, [1, 0]);
      await remove(guest, uuid);
      await guest.write(`${parameters}/mixed`, '1');
    },
  },
  {
    name: 'the mdevs of virtual functions end with them',
    run: async ({ guest }) => {
      const [first = ''] = await virtualFunctions(guest, vf);
      await create(guest, first, 'nvidia-557', randomUUID());
      await guest.write(`${devices}/${vf}/sriov_numvfs`, '0');
      assert.deepEqual(await guest.list(mdevs), []);
      assert.equal(await guest.exists(`/sys/class/mdev_bus/${first}`), false);
    },
  },
  {
    name: 'current_vgpu_type takes a creatable type once, and is 0 without one',
    run: async ({ guest }) => {
      await guest.write(`${devices}/${vendor}/sriov_numvfs`, '8');
      assert.equal(await guest.exists(`${devices}/${vendor}/nvidia`), false);
      const [first = '', second = ''] = await virtualFunctions(guest, vendor);
      const current = `${devices}/${first}/nvidia/current_vgpu_type`;
      const table = `${devices}/${first}/nvidia/creatable_vgpu_types`;
      const rows = ['557   : NVIDIA FAKE-1Q', '558   : NVIDIA FAKE-2Q'];
      assert.equal(await guest.read(current), '0');
      assert.deepEqual((await guest.read(table)).split('\n'), [header, ...rows]);
      assert.equal(await errorOf(guest.write(current, 'none')), 'EINVAL');
      assert.equal(await errorOf(guest.write(current, '999')), 'EINVAL');
      assert.equal(await guest.read(current), '0');
      await guest.write(current, '558');
      assert.equal(await guest.read(current), '558');
      assert.equal(await guest.read(table), header);
      assert.equal(await errorOf(guest.write(current, '557')), 'EINVAL');
      assert.equal(await guest.read(current), '558');
      const others = `${devices}/${second}/nvidia/creatable_vgpu_types`;
      assert.deepEqual((await guest.read(others)).split('\n'), [header, ...rows]);
      await guest.write(current, '0');
      await guest.write(current, '0');
    },
  },
  {
    name: 'the table of a full card has its header only, and none if names come first',
    run: async ({ guest }) => {
      const [first = '', second = '', third = ''] = await virtualFunctions(guest, vendor);
      const file = (address: string, name: string) => `${devices}/${address}/nvidia/${name}`;
      const table = () => guest.read(file(third, 'creatable_vgpu_types'));
      await guest.write(`${parameters}/name_first`, '1');
      assert.equal(await table(), 'NVIDIA FAKE-1Q   557\nNVIDIA FAKE-2Q   558');
      for (const each of [first, second]) {
        await guest.write(file(each, 'current_vgpu_type'), '558');
      }
      assert.equal(await table(), '');
      await guest.write(`${parameters}/name_first`, '0');
      assert.equal(await table(), header);
      const refused = guest.write(file(third, 'current_vgpu_type'), '557');
      assert.equal(await errorOf(refused), 'EINVAL');
      for (const each of [first, second]) await guest.write(file(each, 'current_vgpu_type'), '0');
    },
  },
  {
    name: 'current_vgpu_type cannot change while a program has the device open',
    run: async ({ guest }) => {
      const [first = ''] = await virtualFunctions(guest, vendor);
      const current = `${devices}/${first}/nvidia/current_vgpu_type`;
      await guest.write(current, '557');
      const holder = await holdOpen(guest, `${devices}/${first}`);
      assert.equal(await errorOf(guest.write(current, '0')), 'EBUSY');
      await holder.stop();
      await guest.write(current, '0');
      await guest.write(`${devices}/${vendor}/sriov_numvfs`, '0');
    },
  },
];

export const vgpu: Group = {
  name: 'vGPU',
  prepare: async ({ guest }: Stage) => {
    const functions = ['10de:1eb8:030200', '10de:2235:030200:8', '10de:26b9:030200:8'];
    const cards = ['10de:1eb8=pf', '10de:2235=vf', '10de:26b9=vendor'];
    await guest.run('modprobe', 'vfio_iommu_type1');
    await guest.run('modprobe', 'mtty');
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, 'behind=0000:00:04.0');
    await guest.run('modprobe', 'fake_vgpu', `cards=${cards}`, 'capacity=4', 'types=557:1,558:2');
  },
  scenarios,
};
