// Cards that must not be offered: another one at the address of one that was offered, after QEMU
// has given the buses other numbers, and a model that the kernel's vfio-pci refuses.

import assert from 'node:assert/strict';
import { timed, untilIncident } from '#test/kernel/faults.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import { untilInventory, untilProducts } from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';

const devices = '/sys/bus/pci/devices';
const hostname = 'kernel-9.example';
/** The first bus behind a root port, and a function of fake_pci. */
const [firstBehindPort, qat] = ['0000:01:00.0', '0001:00:00.0'] as const;
const provider = `${hostname}_${firstBehindPort}`;
const denied = 'cannot be given to a guest: vfio-pci refuses this model (denylist)';

/** A root port with a network card, whose bus goes before that of the NVMe controller. */
const inFront = [
  ...['-device', 'pcie-root-port,id=slot0,slot=9,addr=01.0'],
  ...['-device', 'e1000e,bus=slot0,mac=52:54:00:00:00:02'],
];

const settings = {
  drivers: ['pci'],
  pci: {
    allow_list: [
      { address: firstBehindPort, resource_class: 'CUSTOM_SSD', bind_to: 'vfio-pci' },
      { vendor_id: '8086', product_id: '37c8', resource_class: 'CUSTOM_QAT', bind_to: 'vfio-pci' },
    ],
  },
};

/** Parameters of modules; each boot loads them with these. */
const parameters: { vfio: readonly string[] } = { vfio: [] };

async function driverOf({ guest }: Stage, address: string): Promise<string | undefined> {
  const path = `${devices}/${address}/driver`;
  return (await guest.exists(path)) ? await guest.link(path) : undefined;
}

async function bootAgain(stage: Stage, added: readonly string[]): Promise<void> {
  await stage.powerOff();
  await stage.boot(added);
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the kernel refuses to bind a model of its denylist to vfio-pci, and the agent to offer it',
    run: async (stage) => {
      const { guest } = stage;
      await guest.write(`${devices}/${qat}/driver_override`, 'vfio-pci');
      await guest.write('/sys/bus/pci/drivers_probe', qat);
      assert.equal(await driverOf(stage, qat), undefined);
      assert.match(await guest.run('dmesg'), /8086:37c8 exists in vfio-pci device denylist/);
      await stage.startAgent(settings);
      const seen = await untilIncident(stage, denied);
      await untilInventory(stage.cloud, provider, 'CUSTOM_SSD', 1);
      await untilProducts(stage.cloud, hostname, ['0010']);
      assert.equal(await driverOf(stage, firstBehindPort), 'vfio-pci');
      return `incident ${seen} after the start`;
    },
  },
  {
    name: 'another card at an address that was offered keeps its driver, and is not offered',
    run: async (stage) => {
      await bootAgain(stage, inFront);
      await stage.startAgent(settings);
      const { guest, cloud } = stage;
      assert.match(await guest.read(`${devices}/${firstBehindPort}/uevent`), /PCI_ID=8086:10D3/);
      assert.match(await guest.read(`${devices}/0000:02:00.0/uevent`), /PCI_ID=1B36:0010/);
      const reason = 'is 8086:10d3 of class 020000, and 1b36:0010 was offered here';
      const seen = await untilIncident(stage, reason);
      await untilProducts(cloud, hostname, []);
      assert.equal(await driverOf(stage, firstBehindPort), 'e1000e');
      // No entry names the address to which the controller has moved.
      assert.equal(await driverOf(stage, '0000:02:00.0'), 'nvme');
      return `incident ${seen} after the start`;
    },
  },
  {
    name: 'a card that is back at its address is offered again, and one without the denylist',
    run: async (stage) => {
      parameters.vfio = ['disable_denylist=1'];
      await bootAgain(stage, []);
      const { cloud } = stage;
      await stage.startAgent(settings);
      const back = await timed(untilProducts(cloud, hostname, ['0010', '37c8']));
      await untilInventory(cloud, provider, 'CUSTOM_SSD', 1);
      assert.equal(await driverOf(stage, qat), 'vfio-pci');
      return `offered ${back} after the start`;
    },
  },
];

export const otherCard: Group = {
  name: 'Other card',
  hostname,
  prepare: async ({ guest }) => {
    await guest.run('modprobe', 'vfio_iommu_type1');
    await guest.run('modprobe', 'vfio-pci', ...parameters.vfio);
    await guest.run('modprobe', 'fake_pci', 'devs=8086:37c8:0b4000', 'behind=0000:00:04.0');
  },
  scenarios,
};
