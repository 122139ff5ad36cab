// Driver qat on a real kernel, with a module in the place of the kernel's driver for QAT cards of
// generation 4, which Debian leaves out: its files and its errors, without cryptography.

import assert from 'node:assert/strict';
import { untilIncident, untilNoIncident } from '#test/kernel/faults.ts';
import { errorOf, type GuestProcess, holdOpen } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  arqOf,
  createActiveServer,
  createFlavor,
  deleteServer,
  untilInventory,
  untilProducts,
} from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const devices = '/sys/bus/pci/devices';
const hostname = 'kernel-5.example';
/** The slot of fake_pci. */
const card = '0001:00:00.0';
const provider = `${hostname}_${card}`;
const qat = `${devices}/${card}/qat`;
const heartbeat = `/sys/kernel/debug/qat_4xxx_${card}/heartbeat/status`;
const running: { agent?: GuestProcess; server?: string } = {};

function settingsOf(services: readonly string[]) {
  return {
    drivers: ['qat'],
    qat: { cards: [{ addresses: card, services, bind_to: 'vfio-pci' }] },
  };
}

async function bootServer({ cloud }: Stage): Promise<string> {
  const id = await createActiveServer(cloud, 'qat');
  running.server = id;
  return (await arqOf(cloud, id)).function;
}

const scenarios: readonly Scenario[] = [
  {
    name: 'services are refused while the card is up, and taken while it is down',
    run: async ({ guest }) => {
      assert.equal(await guest.read(`${qat}/cfg_services`), 'sym;asym');
      assert.equal(await errorOf(guest.write(`${qat}/cfg_services`, 'dc')), 'EINVAL');
      assert.equal(await errorOf(guest.write(`${qat}/state`, 'sideways')), 'EINVAL');
      await guest.write(`${devices}/${card}/sriov_numvfs`, '1');
      assert.equal(await guest.read(`${devices}/${card}/sriov_numvfs`), '4');
      await guest.write(`${qat}/state`, 'down');
      assert.equal(await guest.exists(`${devices}/${card}/virtfn0`), false);
      assert.equal(await guest.exists(heartbeat), false);
      assert.equal(await errorOf(guest.write(`${qat}/cfg_services`, 'sym;rsa')), 'EINVAL');
      await guest.write(`${qat}/cfg_services`, 'sym;asym');
    },
  },
  {
    name: 'the agent takes a card up with its services, and makes and binds all functions',
    run: async (stage) => {
      const { guest, cloud } = stage;
      running.agent = await stage.startAgent(settingsOf(['dc', 'sym']));
      await untilProducts(cloud, hostname, ['4940']);
      await untilInventory(cloud, provider, 'CUSTOM_QAT', 4);
      assert.equal(await guest.read(`${qat}/state`), 'up');
      assert.equal(await guest.read(`${qat}/cfg_services`), 'dc;sym');
      const address = await guest.link(`${devices}/${card}/virtfn3`);
      assert.equal(await guest.link(`${devices}/${address}/driver`), 'vfio-pci');
      await createFlavor(cloud, 'qat', {
        'resources:CUSTOM_QAT': '1',
        'trait:CUSTOM_QAT_DC': 'required',
        'trait:CUSTOM_QAT_GEN4': 'required',
      });
    },
  },
  {
    name: 'a function is reset after its server, and the card answers',
    run: async (stage) => {
      await bootServer(stage);
      await deleteServer(stage.cloud, running.server ?? '');
      await eventually(() => stage.cloud.isClean(hostname), Boolean, 240);
    },
  },
  {
    name: 'services stay while a program has a function open, whatever the settings say',
    run: async (stage) => {
      const { guest, cloud } = stage;
      const address = await bootServer(stage);
      const holder = await holdOpen(guest, `${devices}/${address}`);
      await running.agent?.stop();
      const agent = await stage.startAgent(settingsOf(['asym']));
      running.agent = agent;
      await agent.line((line) => line.includes('is offered to guests'));
      assert.equal(await guest.read(`${qat}/cfg_services`), 'dc;sym');
      assert.ok(await guest.exists(`${devices}/${address}`));
      await holder.stop();
      await deleteServer(cloud, running.server ?? '');
      await eventually(() => cloud.isClean(hostname), Boolean, 240);
    },
  },
  {
    name: 'a card that does not answer its heartbeat is offered to no server',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await untilInventory(cloud, provider, 'CUSTOM_QAT', 4);
      const silent = '/sys/module/fake_qat/parameters/silent';
      await guest.write(silent, '1');
      const seen = await untilIncident(stage, 'does not answer its heartbeat');
      await untilInventory(cloud, provider, 'CUSTOM_QAT', 0);
      await guest.write(silent, '0');
      // It is offered again after ten minutes without a fault.
      const over = await untilNoIncident(stage, 'does not answer its heartbeat');
      return `incident ${seen} after its last answer, over ${over} after the next one`;
    },
  },
  {
    name: 'a fatal fault that a program writes to the log, and not the kernel, counts for no device',
    run: async ({ guest, cloud }) => {
      const forged = [
        `<3>4xxx ${card}: Fatal error, reset required`,
        `<3>4xxx ${card}: Fatal error, reset required\n SUBSYSTEM=pci\n DEVICE=+pci:${card}`,
        '<3>NVRM: Xid (PCI:0001:00:00): 79, GPU has fallen off the bus.',
      ];
      for (const line of forged) await guest.write('/dev/kmsg', line);
      const log = await guest.run('dmesg');
      assert.equal(log.split('Fatal error, reset required').length - 1, 2);
      // The agent reads every two seconds, and reports at once.
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      const isFault = (reason: string) => /QAT|Xid/.test(reason);
      assert.deepEqual((await cloud.healthOf(hostname)).filter(isFault), []);
    },
  },
  {
    name: 'a fatal fault in the log of the kernel is an incident within seconds, until a rescan',
    run: async (stage) => {
      const { guest, cloud } = stage;
      const fatal = 'has had a fatal error of QAT, which needs a reset';
      await guest.write('/sys/module/fake_qat/parameters/fail', '1');
      const seen = await untilIncident(stage, fatal, 20);
      const incidents = await cloud.ops('incidents', '--kind', 'unhealthy-device', '-f', 'json');
      assert.match(incidents, /Reset the card, or reboot the host/);
      await guest.write(`${devices}/${card}/remove`, '1');
      await guest.write('/sys/bus/pci/rescan', '1');
      const over = await untilNoIncident(stage, fatal);
      return `incident ${seen} after the message, over ${over} after a rescan`;
    },
  },
];

async function prepare({ guest }: Stage): Promise<void> {
  await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
  const functions = 'devs=8086:4940:0b4000:4:4941';
  await guest.run('modprobe', 'fake_pci', functions, 'behind=0000:00:04.0');
  await guest.run('modprobe', 'fake_qat');
}

export const qatCards: Group = { name: 'QAT', hostname, prepare, scenarios };
