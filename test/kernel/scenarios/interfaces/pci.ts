// What the kernel does with PCI functions, and drivers of the agent rely on.

import assert from 'node:assert/strict';
import { bindTo, errorOf, type Guest, holdOpen } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import type { Stage } from '#test/kernel/stage.ts';

const devices = '/sys/bus/pci/devices';
const nvme = '0000:01:00.0';
/** Slots of fake_pci. */
const gpu = '0001:00:00.0';
const nic = '0001:00:01.0';
const withoutReset = '0001:00:02.0';
const mate = '0001:00:03.0';
const parameters = '/sys/module/fake_pci/parameters';

async function unbind(guest: Guest, address: string): Promise<void> {
  await guest.write(`${devices}/${address}/driver/unbind`, address);
  await guest.write(`${devices}/${address}/driver_override`, '\n');
}

function virtualFunctions(physical: string, count: number, ids: readonly string[]): Scenario {
  return {
    name: `${physical} has ${count} virtual functions, made and removed by sriov_numvfs`,
    run: async ({ guest }) => {
      const card = `${devices}/${physical}`;
      assert.equal(await guest.read(`${card}/sriov_totalvfs`), String(count));
      await guest.write(`${card}/sriov_drivers_autoprobe`, '0');
      await guest.write(`${card}/sriov_numvfs`, String(count));
      const links = (await guest.list(card)).filter((name) => name.startsWith('virtfn'));
      assert.equal(links.length, count);
      const address = await guest.link(`${card}/virtfn1`);
      const virtual = `${devices}/${address}`;
      const found = [await guest.read(`${virtual}/vendor`), await guest.read(`${virtual}/device`)];
      assert.deepEqual(found, ids);
      assert.equal(await guest.link(`${virtual}/physfn`), physical);
      assert.equal(await guest.exists(`${virtual}/sriov_numvfs`), false);
      assert.equal(await errorOf(guest.write(`${card}/sriov_numvfs`, '1')), 'EBUSY');
      assert.equal(await errorOf(guest.write(`${card}/sriov_numvfs`, '999')), 'ERANGE');
      assert.equal(await errorOf(guest.write(`${card}/sriov_numvfs`, String(count))), 'none');

      await bindTo(guest, address, 'vfio-pci');
      const group = await guest.link(`${virtual}/iommu_group`);
      assert.ok(await guest.exists(`/dev/vfio/${group}`));
      await guest.write(`${virtual}/reset`, '1');
      await unbind(guest, address);

      await guest.write(`${card}/sriov_numvfs`, '0');
      assert.equal(await guest.exists(virtual), false);
      await guest.write(`${card}/sriov_drivers_autoprobe`, '1');
    },
  };
}

const scenarios: readonly Scenario[] = [
  {
    name: 'functions have the identity, the IOMMU group and the serial number that a test gives',
    run: async ({ guest }) => {
      const read = (name: string) => guest.read(`${devices}/${gpu}/${name}`);
      const found = [await read('vendor'), await read('device'), await read('class')];
      assert.deepEqual(found, ['0x10de', '0x2331', '0x030200']);
      const group = (address: string) => guest.link(`${devices}/${address}/iommu_group`);
      assert.notEqual(await group(gpu), await group(nic));
      assert.equal(await group(mate), await group(withoutReset));
      // Capability 3 at 0x100, version 1: the number follows.
      const config = await guest.run(
        'od',
        '-An',
        '-tx1',
        '-j256',
        '-N12',
        `${devices}/${gpu}/config`,
      );
      assert.match(config, /03 00 01 \w\w de 10 31 23 00 00 00 00/);
    },
  },
  {
    name: 'drivers_probe succeeds without a bound driver, and an empty override reads (null)',
    run: async ({ guest }) => {
      const card = `${devices}/${gpu}`;
      assert.equal(await guest.read(`${card}/driver_override`), '(null)');
      await guest.write(`${card}/driver_override`, 'no-such-driver');
      assert.equal(await errorOf(guest.write('/sys/bus/pci/drivers_probe', gpu)), 'none');
      assert.equal(await guest.exists(`${card}/driver`), false);
      await guest.write(`${card}/driver_override`, '\n');
      assert.equal(await guest.read(`${card}/driver_override`), '(null)');
      assert.equal(
        await errorOf(guest.write('/sys/bus/pci/drivers_probe', '0001:00:1f.0')),
        'ENODEV',
      );
    },
  },
  {
    name: 'a function on vfio-pci is opened by one program at a time',
    run: async ({ guest }) => {
      await bindTo(guest, gpu, 'vfio-pci');
      const group = await guest.link(`${devices}/${gpu}/iommu_group`);
      const holder = await holdOpen(guest, `${devices}/${gpu}`);
      const second = await guest.tryRun('kernel-calls', 'vfio-hold', `/dev/vfio/${group}`, gpu);
      assert.match(second.stderr, /Device or resource busy/);
      await holder.stop();
      await unbind(guest, gpu);
    },
  },
  {
    name: 'sriov_numvfs of a function without a driver fails with ENOENT',
    run: async ({ guest }) => {
      assert.equal(await guest.exists(`${devices}/${nic}/driver`), false);
      assert.equal(await errorOf(guest.write(`${devices}/${nic}/sriov_numvfs`, '2')), 'ENOENT');
    },
  },
  {
    name: 'a driver that can do SR-IOV binds to the card',
    run: async ({ guest }) => {
      await guest.run('modprobe', 'fake_vgpu', 'name=fakenic', 'cards=8086:1572=vendor');
      assert.equal(await guest.link(`${devices}/${nic}/driver`), 'fakenic');
    },
  },
  virtualFunctions(nic, 16, ['0x8086', '0x154c']),
  virtualFunctions(nvme, 4, ['0x1b36', '0x0010']),
  {
    name: 'a function level reset happens once, and a device without any reset has no file for it',
    run: async ({ guest }) => {
      assert.equal(await guest.read(`${devices}/${gpu}/reset_method`), 'flr');
      const before = Number(await guest.read(`${parameters}/resets`));
      await guest.write(`${devices}/${gpu}/reset`, '1');
      assert.equal(Number(await guest.read(`${parameters}/resets`)), before + 1);
      assert.equal(await guest.exists(`${devices}/${withoutReset}/reset`), false);
      assert.equal(await guest.exists(`${devices}/${withoutReset}/reset_method`), false);
    },
  },
  {
    name: 'a write to reset returns when the function answers again',
    run: async ({ guest }) => {
      await guest.write(`${parameters}/slow_ms`, '3000');
      await guest.write(`${parameters}/slow`, '1');
      const at = performance.now();
      await guest.write(`${devices}/${gpu}/reset`, '1');
      assert.ok(performance.now() - at > 2000);
      await guest.write(`${parameters}/slow`, '0');
    },
  },
  {
    name: 'a function that fell off the bus reads as all ones, while sysfs still names it',
    run: async ({ guest }) => {
      const head = ['od', '-An', '-tx1', '-N4', `${devices}/${gpu}/config`];
      await guest.write(`${parameters}/dead`, '1');
      assert.match(await guest.run(...head), /ff ff ff ff/);
      assert.equal(await guest.read(`${devices}/${gpu}/vendor`), '0x10de');
      await guest.write(`${parameters}/dead`, '0');
      assert.match(await guest.run(...head), /de 10 31 23/);
    },
  },
  {
    name: 'a removed function is gone until a rescan',
    run: async ({ guest }) => {
      await guest.write(`${devices}/${gpu}/remove`, '1');
      assert.equal(await guest.exists(`${devices}/${gpu}`), false);
      await guest.write('/sys/bus/pci/rescan', '1');
      assert.equal(await guest.read(`${devices}/${gpu}/device`), '0x2331');
    },
  },
];

export const pci: Group = {
  name: 'PCI',
  prepare: async ({ guest }: Stage) => {
    const functions = [
      '10de:2331:030200',
      '8086:1572:020000:16:154c',
      '19e5:d100:120000:0:0:n',
      '19e5:d100:040300:0:0:g',
    ];
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, 'behind=0000:00:04.0');
  },
  scenarios,
};
