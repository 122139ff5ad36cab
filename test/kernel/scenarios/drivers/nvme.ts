// The agent's driver `nvme` with the kernel's driver, Debian's nvme-cli and QEMU's NVMe
// controller, which has no Sanitize: the scenarios format. Its medium is a file of zeros and of
// what a scenario writes.

import assert from 'node:assert/strict';
import { untilHealth, untilIncident, untilNoIncident } from '#test/kernel/faults.ts';
import { bindTo, type Guest, type GuestProcess } from '#test/kernel/machine/guest.ts';
import { nvmeController } from '#test/kernel/machine/machine.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  arqOf,
  componentDevice,
  createActiveServer,
  createFlavor,
  deleteServer,
  passImages,
  programComponent,
  untilInventory,
  untilProducts,
  untilProgram,
} from '#test/kernel/servers.ts';
import { agentProgram, type Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const nvme = '0000:01:00.0';
const device = `/sys/bus/pci/devices/${nvme}`;
const hostname = 'kernel-3.example';
/** What a tenant has written, at the beginning of the namespace. */
const secret = 'what a tenant has written';
const running: { agent?: GuestProcess; imageSource?: string } = {};

const settings = {
  drivers: ['nvme'],
  nvme: {
    devices: [nvme],
    clean: 'format',
    // Below five minutes, so that the handle is not reserved in Placement meanwhile.
    clean_seconds: 280,
  },
};

/** The block device of the namespace appears some time after its controller. */
async function namespaceOf(guest: Guest): Promise<string> {
  const names = await eventually(
    async () => (await guest.list('/sys/class/block')).filter((name) => /^nvme\d+n1$/.test(name)),
    (found) => found.length === 1,
  );
  return `/dev/${names[0]}`;
}

async function writeSecret(guest: Guest): Promise<void> {
  await guest.save('/tmp/secret', secret);
  const to = `of=${await namespaceOf(guest)}`;
  await guest.run('dd', 'if=/tmp/secret', to, 'bs=512', 'conv=sync,fsync');
}

async function readBlock(guest: Guest): Promise<string> {
  return guest.run('dd', `if=${await namespaceOf(guest)}`, 'bs=512', 'count=1');
}

async function startAgent(stage: Stage): Promise<GuestProcess> {
  running.imageSource ??= await passImages(stage);
  running.agent = await stage.startAgent({ ...settings, image_source: running.imageSource });
  return running.agent;
}

/** What the agent has kept of it before it was bound to VFIO. */
async function firmwareBefore({ guest }: Stage): Promise<string> {
  const kept = await guest.run('cat', '/var/lib/cyborg-agent/drivers/nvme/controllers.json');
  const all = JSON.parse(kept) as Record<string, { firmware: string }>;
  return all[nvme]?.firmware ?? '';
}

/** Bits of the critical warning in the SMART log. */
async function warn({ monitor }: Stage, value: number): Promise<void> {
  const path = '/machine/peripheral/controller';
  await monitor.run('qom-set', { path, property: 'smart_critical_warning', value });
}

const unreliable = 'has lost reliability by errors of its medium, by its SMART log';

async function untilClean({ cloud, guest }: Stage): Promise<void> {
  await eventually(() => cloud.isClean(hostname), Boolean, 280);
  assert.equal(await guest.link(`${device}/driver`), 'vfio-pci');
}

const scenarios: readonly Scenario[] = [
  {
    name: 'nvme-cli prints the identity, the namespaces and no Sanitize of the controller as JSON',
    run: async ({ guest }) => {
      const [name = ''] = await guest.list('/sys/class/nvme');
      const node = `/dev/${name}`;
      const json = async (...args: string[]) =>
        JSON.parse(await guest.run('/usr/sbin/nvme', ...args, '-o', 'json')) as unknown;
      const identity = (await json('id-ctrl', node)) as Record<string, unknown>;
      assert.equal(String(identity.sn).trim(), 'kernel-suite');
      assert.equal(identity.sanicap, 0);
      // Format NVM.
      assert.equal(Number(identity.oacs) & 0x2, 0x2);
      assert.deepEqual(await json('list-ns', node), { nsid_list: [{ nsid: 1 }] });
      // The one slot is read-only, and no command writes firmware.
      assert.deepEqual([Number(identity.oacs) & 0x4, identity.frmw], [0, 0x3]);
      const log = (await json('fw-log', node)) as Record<string, Record<string, unknown>>;
      assert.deepEqual(Object.keys(log), [name]);
      const slots = log[name] ?? {};
      assert.equal(slots['Active Firmware Slot (afi)'], 1);
      assert.match(String(slots['Firmware Rev Slot 1']), /^\d+ \([!-~]{8}\)$/);
      assert.equal(await guest.read(`/sys/class/nvme/${name}/serial`), 'kernel-suite');
      assert.equal(await guest.read(`/sys/class/nvme/${name}/state`), 'live');
    },
  },
  {
    name: 'nvme-cli prints each critical warning of the SMART log that the controller has',
    run: async (stage) => {
      const { guest } = stage;
      const [name = ''] = await guest.list('/sys/class/nvme');
      for (const value of [0x01, 0x02, 0x04, 0x08, 0x10, 0]) {
        await warn(stage, value);
        const printed = await guest.run(
          '/usr/sbin/nvme',
          'smart-log',
          `/dev/${name}`,
          '-o',
          'json',
        );
        assert.equal(JSON.parse(printed).critical_warning, value);
      }
    },
  },
  {
    name: 'a disk that is claimed, as a pool of ZFS claims its own, is left to the host',
    run: async (stage) => {
      const { guest } = stage;
      const disk = await namespaceOf(guest);
      await guest.run('modprobe', 'claim_disk', `path=${disk}`);
      await startAgent(stage);
      const name = disk.replace('/dev/', '');
      const reason = `is in use by the kernel: ${name}, or a partition of it, cannot be opened exclusively`;
      const seen = await untilIncident(stage, reason);
      assert.equal(await guest.link(`${device}/driver`), 'nvme');
      await running.agent?.stop();
      await guest.run('rmmod', 'claim_disk');
      return `not offered ${seen} after the agent's start`;
    },
  },
  {
    name: 'the agent binds an NVMe device to VFIO, and reports its serial number',
    run: async (stage) => {
      const { guest, cloud } = stage;
      await writeSecret(guest);
      const agent = await startAgent(stage);
      await untilProducts(cloud, hostname, ['0010']);
      await untilInventory(cloud, `${hostname}_${nvme}`, 'CUSTOM_SSD', 1);
      assert.equal(await guest.link(`${device}/driver`), 'vfio-pci');
      const kept = await guest.run('cat', '/var/lib/cyborg-agent/drivers/nvme/controllers.json');
      assert.match(kept, /"serial":"kernel-suite"/);
      assert.deepEqual(
        agent.lines.filter((line) => line.includes('"level":"error"')),
        [],
      );
    },
  },
  {
    name: 'a reset that an operator asks for formats the device',
    run: async (stage) => {
      const { cloud, guest } = stage;
      const { uuid } = await componentDevice(stage, 'firmware');
      const told = await cloud.ops('devices', 'reset', uuid, '--reason', 'a test');
      assert.ok(told.includes(`${uuid} is being reset: 1 handle free once the host has cleaned.`));
      await untilClean(stage);
      // The agent would bind the device back at its next discovery.
      await running.agent?.stop();
      await bindTo(guest, nvme, 'nvme');
      assert.ok(!(await readBlock(guest)).includes(secret));
      await writeSecret(guest);
      await startAgent(stage);
      await eventually(
        () => guest.link(`${device}/driver`),
        (driver) => driver === 'vfio-pci',
      );
    },
  },
  {
    name: 'an NVMe device is formatted after its server, and the next server gets it',
    run: async (stage) => {
      const { cloud } = stage;
      await createFlavor(cloud, 'nvme', { 'resources:CUSTOM_SSD': '1' });
      const first = await createActiveServer(cloud, 'nvme');
      const { uuid } = await componentDevice(stage, 'firmware');
      await assert.rejects(
        cloud.ops('devices', 'reset', uuid),
        /cannot be reset now: 1 of its attach handles belong to servers/,
      );
      assert.equal((await arqOf(cloud, first)).function, nvme);
      await deleteServer(cloud, first);
      await untilClean(stage);
      await deleteServer(cloud, await createActiveServer(cloud, 'nvme'));
      await untilClean(stage);
    },
  },
  {
    name: 'a critical warning of the SMART log is an incident once the device has left its server',
    run: async (stage) => {
      const { cloud } = stage;
      const server = await createActiveServer(cloud, 'nvme');
      await warn(stage, 0x04);
      await deleteServer(cloud, server);
      const seen = await untilIncident(stage, unreliable, 120);
      await untilClean(stage);
      await untilInventory(cloud, `${hostname}_${nvme}`, 'CUSTOM_SSD', 0);
      await warn(stage, 0);
      const { uuid } = await componentDevice(stage, 'firmware');
      await cloud.ops('devices', 'reset', uuid, '--reason', 'replaced');
      const over = await untilNoIncident(stage, unreliable);
      return `incident ${seen} after the server's delete, over ${over} after a reset is asked for`;
    },
  },
  {
    name: 'firmware is refused before anything is written: QEMU has no commands for it',
    run: async (stage) => {
      assert.deepEqual((await componentDevice(stage, 'firmware')).components, [
        { name: 'firmware', version: await firmwareBefore(stage) },
      ]);
      await programComponent(stage, 'firmware', {
        models: '1b36:0010',
        version: '9.9',
        content: 'none',
      });
      const { programs } = await untilProgram(stage, 'firmware', 'failed');
      assert.match(programs[0]?.reason ?? '', /takes no firmware by NVMe's own commands/);
      assert.equal(await stage.guest.link(`${device}/driver`), 'vfio-pci');
    },
  },
  {
    name: 'a device that QEMU removes from its slot is an incident until it is back',
    run: async (stage) => {
      const { guest, monitor } = stage;
      await monitor.run('device_del', { id: 'controller' });
      const gone = await untilIncident(stage, `The device at ${nvme} is not on this host`);
      assert.equal(await guest.exists(device), false);
      await monitor.run('device_add', nvmeController);
      const back = await untilNoIncident(stage, `The device at ${nvme} is not on this host`);
      await untilHealth(stage, unreliable, false);
      return `incident ${gone} after the removal, over ${back} after the device is back`;
    },
  },
  {
    name: 'the namespace of a formatted NVMe device has nothing of the tenant',
    run: async ({ guest }) => {
      await running.agent?.stop();
      await bindTo(guest, nvme, 'nvme');
      assert.ok(!(await readBlock(guest)).includes(secret));
    },
  },
  {
    name: 'self-test tells what the controller and nvme-cli show, and changes nothing',
    run: async ({ guest }) => {
      const { stdout } = await guest.tryRun('node', agentProgram, 'self-test');
      assert.match(stdout, /^seen {6}nvme: nvme-cli is of version \d/m);
      assert.ok(
        stdout.includes(
          `seen      nvme ${nvme}: Its Sanitize supports no method; it can format.\n`,
        ),
        stdout,
      );
      assert.match(stdout, /^\d+ seen, \d+ not seen, \d+ failed$/m);
      assert.equal(await guest.link(`${device}/driver`), 'nvme');
    },
  },
];

export const nvmeDevices: Group = {
  name: 'NVMe',
  hostname,
  prepare: async ({ guest }: Stage) => {
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
  },
  scenarios,
};
