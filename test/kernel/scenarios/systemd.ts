// The agent's package on a host with dpkg and systemd: its unit is started, becomes ready, works
// in its sandbox, is restarted, upgraded and removed, each as docs/agent.md says.

import assert from 'node:assert/strict';
import { packageFile, packageVersions } from '#test/kernel/agent-packages.ts';
import { type Guest, holdOpen } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  arqOf,
  createActiveServer,
  createFlavor,
  deleteServer,
  passImages,
  programComponent,
  untilInventory,
  untilProgram,
} from '#test/kernel/servers.ts';
import type { Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const hostname = 'kernel-6.example';
const unit = 'cyborg-agent.service';
const cyborg = 'openstack-cyborg-agent.service';
const compute = 'nova-compute.service';
const [first, next] = packageVersions;
const devices = '/sys/bus/pci/devices';
const mdevs = '/sys/bus/mdev/devices';
const parameters = '/sys/module/fake_pci/parameters';
/** Slots of fake_pci. */
const nic = '0001:00:00.0';
const gpu = '0001:00:01.0';
const smartNic = '0001:00:02.0';
const nvme = '0000:01:00.0';
const flavors = {
  vf: { 'resources:CUSTOM_NIC': '1' },
  vgpu: { 'resources:VGPU': '1' },
  ssd: { 'resources:CUSTOM_SSD': '1' },
} as const;
/** The guest's CPU is emulated. */
const withinSeconds = 120;
/** TimeoutStopSec of the unit. */
const stopSeconds = 15;

const settings = {
  drivers: ['pci', 'mdev', 'nvme', 'nic'],
  pci: {
    allow_list: [
      {
        vendor_id: '8086',
        product_id: '154c',
        resource_class: 'CUSTOM_NIC',
        virtual_functions: 2,
        bind_to: 'vfio-pci',
        clean: 'reset',
      },
    ],
  },
  nic: {
    cards: [
      {
        addresses: smartNic,
        resource_class: 'CUSTOM_SMARTNIC',
        components: [{ name: 'fw', version: 'fw.mgmt', runs_after: 'reload' }],
      },
    ],
  },
  mdev: { pools: [{ parents: gpu, type: 'nvidia-558' }] },
  // Below five minutes, so that the handle is not reserved in Placement meanwhile.
  nvme: { devices: [nvme], clean: 'format', clean_seconds: 280 },
};

async function property(guest: Guest, name: string, of = unit): Promise<string> {
  return (await guest.run('systemctl', 'show', '-P', name, of)).trim();
}

/** `active`, for instance; systemctl fails for other states. */
async function stateOf(guest: Guest, of = unit): Promise<string> {
  return (await guest.tryRun('systemctl', 'is-active', of)).stdout.trim();
}

/** What the main process of the unit has logged. */
async function logOf(guest: Guest, pid: string): Promise<string> {
  return guest.run('journalctl', '-q', '-o', 'cat', `_PID=${pid}`);
}

/** Waits until a process of the unit with another id than that has reported. @returns its id */
async function untilReported(guest: Guest, before = '0'): Promise<string> {
  const found = await eventually(
    async () => {
      const pid = await property(guest, 'MainPID');
      const log = pid === '0' || pid === before ? '' : await logOf(guest, pid);
      return { pid, hasReported: log.includes('"Inventory reported"') };
    },
    ({ hasReported }) => hasReported,
    withinSeconds,
  );
  return found.pid;
}

/** The drivers of the network card's virtual functions. */
async function driversOf(guest: Guest): Promise<string[]> {
  const links = (await guest.list(`${devices}/${nic}`)).filter((name) => /^virtfn/.test(name));
  const drivers = links.map((name) => guest.link(`${devices}/${nic}/${name}/driver`));
  return Promise.all(drivers);
}

async function boot({ cloud }: Stage, flavor: keyof typeof flavors): Promise<string> {
  const id = await createActiveServer(cloud, flavor);
  const { state } = await arqOf(cloud, id);
  assert.equal(state, 'Bound');
  return id;
}

async function untilClean({ cloud }: Stage): Promise<void> {
  await eventually(() => cloud.isClean(hostname), Boolean, withinSeconds);
}

/** Deletes a server of the virtual function whose reset takes that long, until it has begun. */
async function beginSlowCleaning({ cloud, guest }: Stage, id: string, ms: number) {
  const resets = async () => Number(await guest.read(`${parameters}/resets`));
  const before = await resets();
  await guest.write(`${parameters}/slow_ms`, String(ms));
  await guest.write(`${parameters}/slow`, '1');
  await deleteServer(cloud, id);
  await eventually(resets, (count) => count > before, withinSeconds);
  await guest.write(`${parameters}/slow`, '0');
}

/** Lines of the agent's log that show a refusal of the sandbox. */
async function refusalsOf(guest: Guest): Promise<string[]> {
  const log = await logOf(guest, await property(guest, 'MainPID'));
  const refused = /EPERM|EACCES|EROFS|not permitted|Permission denied|Read-only/;
  return log.split('\n').filter((line) => refused.test(line));
}

const scenarios: readonly Scenario[] = [
  {
    name: 'a first installation starts nothing and says what the host lacks',
    run: async ({ guest }) => {
      const { code, stderr } = await guest.tryRun('dpkg', '-i', packageFile(first));
      assert.equal(code, 0, stderr);
      assert.match(stderr, /enrol this host, then: systemctl enable --now cyborg-agent/);
      assert.equal((await guest.tryRun('systemctl', 'is-enabled', unit)).stdout, 'disabled\n');
      assert.equal(await stateOf(guest), 'inactive');
    },
  },
  {
    name: 'systemd finds no fault in the unit',
    run: async ({ guest }) => {
      const verified = await guest.tryRun('systemd-analyze', 'verify', unit);
      assert.deepEqual(verified, { code: 0, stdout: '', stderr: '' });
      const rated = await guest.run('systemd-analyze', 'security', '--no-pager', unit);
      const [, score = ''] = /Overall exposure level for \S+: ([\d.]+)/.exec(rated) ?? [];
      assert.equal(score, '4.0', rated.slice(-200));
    },
  },
  {
    name: 'without settings the agent fails with 78 and is not started again',
    run: async ({ guest }) => {
      assert.notEqual((await guest.tryRun('systemctl', 'start', unit)).code, 0);
      const names = ['ActiveState', 'ExecMainStatus', 'NRestarts'];
      const found = await Promise.all(names.map((name) => property(guest, name)));
      assert.deepEqual(found, ['failed', '78', '0']);
      await guest.run('systemctl', 'reset-failed', unit);
    },
  },
  {
    name: "the start ends Cyborg's agent, and nova-compute waits until the agent is ready",
    run: async (stage) => {
      const { guest } = stage;
      await guest.run('systemctl', 'start', cyborg);
      assert.equal(await stateOf(guest, cyborg), 'active');
      await stage.enrol({ ...settings, image_source: await passImages(stage) });
      await guest.run('systemctl', 'enable', unit);
      assert.deepEqual(await driversOf(guest), []);
      const started = guest.tryRun('systemctl', 'start', unit, compute);
      await eventually(
        () => stateOf(guest),
        (state) => state === 'activating',
        withinSeconds,
      );
      const { code, stderr } = await started;
      assert.equal(code, 0, `${stderr}${await guest.run('journalctl', '-q', '-u', unit)}`);
      assert.equal(await stateOf(guest), 'active');
      assert.equal(await stateOf(guest, cyborg), 'inactive');
      const since = async (of: string, name: string) => Number(await property(guest, name, of));
      const ready = await since(unit, 'ActiveEnterTimestampMonotonic');
      const isFirst = ready <= (await since(compute, 'InactiveExitTimestampMonotonic'));
      assert.ok(isFirst, `${compute} has started before the agent was ready.`);
      await stage.untilBootKnown();
      await untilInventory(stage.cloud, `${hostname}_${nic}`, 'CUSTOM_NIC', 2);
      await untilInventory(stage.cloud, `${hostname}_${gpu}`, 'VGPU', 2);
      await untilInventory(stage.cloud, `${hostname}_${nvme}`, 'CUSTOM_SSD', 1);
      assert.deepEqual(await driversOf(guest), ['vfio-pci', 'vfio-pci']);
      assert.equal((await guest.list(mdevs)).length, 2);
    },
  },
  {
    name: 'a virtual function, a vGPU and an NVMe device are given and cleaned in the sandbox',
    run: async (stage) => {
      const { cloud, guest } = stage;
      const all = ['vf', 'vgpu', 'ssd'] as const;
      for (const name of all) await createFlavor(cloud, name, flavors[name]);
      const servers: string[] = [];
      for (const name of all) servers.push(await boot(stage, name));
      const before = await guest.list(mdevs);
      for (const id of servers) await deleteServer(cloud, id);
      await untilClean(stage);
      const evidence = await cloud.evidenceOf(hostname);
      const means = evidence.map((each) => String(each.cleaned_by));
      // The format is made by nvme-cli, on the kernel's driver.
      for (const command of [/^reset$/, /^format /]) {
        assert.ok(
          means.some((each) => command.test(each)),
          means.join(),
        );
      }
      assert.deepEqual(await guest.list(mdevs), before);
      assert.deepEqual(await refusalsOf(guest), []);
      // Debian lets only a process with CAP_SYSLOG read the kernel's log.
      const files = await guest.run('ls', '-l', `/proc/${await property(guest, 'MainPID')}/fd`);
      assert.match(files, / -> \/dev\/kmsg$/m);
    },
  },
  {
    name: 'the firmware of a network card is programmed by devlink in the sandbox',
    run: async (stage) => {
      await programComponent(stage, 'fw', {
        models: '15b3:101d',
        version: '2.0',
        content: '2.0\n',
      });
      const { programs } = await untilProgram(stage, 'fw', 'done');
      assert.equal(programs[0]?.evidence?.version, '2.0');
      const folders = '/sys/module/firmware_class/parameters/path';
      assert.equal(await stage.guest.read(folders), '');
      assert.deepEqual(await refusalsOf(stage.guest), []);
    },
  },
  {
    name: 'a killed agent is started again and reports',
    run: async ({ guest }) => {
      const pid = await property(guest, 'MainPID');
      await guest.run('systemctl', 'kill', '--kill-whom=main', '-s', 'KILL', unit);
      await untilReported(guest, pid);
      assert.equal(await property(guest, 'NRestarts'), '1');
      assert.equal(await stateOf(guest), 'active');
    },
  },
  {
    name: 'a restart in the middle of a cleaning ends within the limit, and the cleaning is done',
    run: async (stage) => {
      const { guest } = stage;
      const id = await boot(stage, 'vf');
      const pid = await property(guest, 'MainPID');
      await beginSlowCleaning(stage, id, 8_000);
      assert.equal(await stage.cloud.isClean(hostname), false);
      const from = performance.now();
      await guest.run('systemctl', 'stop', unit);
      const seconds = (performance.now() - from) / 1000;
      assert.ok(seconds < stopSeconds, `The stop took ${seconds.toFixed(1)} s.`);
      assert.equal(await property(guest, 'Result'), 'success');
      assert.equal(await stage.cloud.isClean(hostname), false);
      await guest.run('systemctl', 'start', unit);
      await untilReported(guest, pid);
      await untilClean(stage);
    },
  },
  {
    name: 'a cleaning that is under way at a restart does not fail',
    run: async (stage) => {
      const { guest } = stage;
      const id = await boot(stage, 'vf');
      const pid = await property(guest, 'MainPID');
      await beginSlowCleaning(stage, id, 3_000);
      await guest.run('systemctl', 'restart', unit);
      const now = await untilReported(guest, pid);
      await untilClean(stage);
      const log = `${await logOf(guest, pid)}${await logOf(guest, now)}`;
      assert.ok(!log.includes('"Job step failed"'), log);
    },
  },
  {
    name: 'a vGPU that is open counts as cleaned after its holder only, also over a restart',
    run: async (stage) => {
      const { cloud, guest } = stage;
      const id = await boot(stage, 'vgpu');
      const pid = await property(guest, 'MainPID');
      const { attach_handle_uuid: uuid } = await arqOf(cloud, id);
      const holder = await holdOpen(guest, `${mdevs}/${uuid}`);
      await deleteServer(cloud, id);
      await eventually(
        () => guest.list(mdevs),
        (found) => !found.includes(uuid),
        withinSeconds,
      );
      // A process of the agent hangs in the kernel: systemd goes on without its end.
      await guest.run('systemctl', 'restart', unit);
      const now = await untilReported(guest, pid);
      await eventually(
        () => logOf(guest, now),
        (log) => log.includes('"Job step failed"'),
        withinSeconds,
      );
      assert.equal(await cloud.isClean(hostname), false);
      await holder.stop();
      await eventually(
        () => guest.list(mdevs),
        (found) => found.includes(uuid),
        withinSeconds,
      );
      await untilClean(stage);
    },
  },
  {
    name: 'an upgrade keeps vGPUs and bindings, and the new version runs',
    run: async (stage) => {
      const { cloud, guest } = stage;
      const servers = [await boot(stage, 'vf'), await boot(stage, 'vgpu')];
      const before = await guest.list(mdevs);
      const pid = await property(guest, 'MainPID');
      await guest.run('dpkg', '-i', packageFile(next));
      const version = await guest.run('dpkg-query', '-W', '-f', `\${Version}`, 'cyborg-agent');
      assert.equal(version, next);
      const now = await untilReported(guest, pid);
      const program = await guest.run('readlink', `/proc/${now}/exe`);
      assert.equal(program, '/usr/lib/cyborg-agent/node\n');
      assert.equal((await guest.tryRun('systemctl', 'is-enabled', unit)).stdout, 'enabled\n');
      assert.deepEqual(await guest.list(mdevs), before);
      assert.deepEqual(await driversOf(guest), ['vfio-pci', 'vfio-pci']);
      for (const id of servers) assert.equal((await arqOf(cloud, id)).state, 'Bound');
      for (const id of servers) await deleteServer(cloud, id);
      await untilClean(stage);
      assert.deepEqual(await guest.list(mdevs), before);
    },
  },
  {
    name: 'an agent that no longer answers is ended by the watchdog and started again',
    run: async ({ guest }) => {
      // In place of the two minutes of the unit.
      const text = '[Service]\nWatchdogSec=20\n';
      await guest.save(`/run/systemd/system/${unit}.d/watchdog.conf`, text);
      await guest.run('systemctl', 'daemon-reload');
      await guest.run('systemctl', 'restart', unit);
      const pid = await untilReported(guest);
      await guest.run('systemctl', 'kill', '--kill-whom=main', '-s', 'STOP', unit);
      await untilReported(guest, pid);
      assert.equal(await property(guest, 'NRestarts'), '1');
      const log = await guest.run('journalctl', '-q', '-o', 'cat', '-u', unit);
      assert.match(log, /Watchdog timeout/);
    },
  },
  {
    name: 'a removal ends the agent, and a purge keeps its identity, its state and the vGPUs',
    run: async ({ guest }) => {
      const before = await guest.list(mdevs);
      await guest.run('dpkg', '--remove', 'cyborg-agent');
      assert.equal(await stateOf(guest), 'inactive');
      assert.ok(!(await guest.exists('/usr/lib/cyborg-agent/node')));
      assert.ok(await guest.exists('/etc/default/cyborg-agent'));
      const { code, stderr } = await guest.tryRun('dpkg', '--purge', 'cyborg-agent');
      assert.equal(code, 0, stderr);
      assert.match(stderr, /\/etc\/cyborg-agent is kept.*\/var\/lib\/cyborg-agent is kept/s);
      assert.ok(!(await guest.exists('/etc/default/cyborg-agent')));
      for (const kept of ['/etc/cyborg-agent/agent.json', '/var/lib/cyborg-agent/jobs.json']) {
        assert.ok(await guest.exists(kept), `${kept} is gone.`);
      }
      assert.deepEqual(await guest.list(mdevs), before);
      assert.equal((await guest.tryRun('systemctl', 'is-enabled', unit)).code, 1);
    },
  },
  {
    name: 'an installation on a host that has settings starts the agent',
    run: async ({ guest }) => {
      await guest.run('dpkg', '-i', packageFile(first));
      assert.equal(await stateOf(guest), 'active');
      assert.equal((await guest.tryRun('systemctl', 'is-enabled', unit)).stdout, 'enabled\n');
      await untilReported(guest);
    },
  },
];

/** Stands for a service of the host that the agent's unit names. */
const stub = '[Service]\nExecStart=/usr/bin/sleep infinity\n';

export const systemd: Group = {
  name: 'systemd',
  hostname,
  systemd: true,
  prepare: async ({ guest }: Stage) => {
    // The log of the VM shows it.
    await guest.start('journal', ['journalctl', '-f', '-q', '-o', 'cat', '-u', unit]);
    for (const name of [cyborg, compute]) await guest.save(`/etc/systemd/system/${name}`, stub);
    await guest.run('systemctl', 'daemon-reload');
    const functions = ['8086:1572:020000:4:154c', '10de:1eb8:030200', '15b3:101d:020000'];
    const cards = ['8086:1572=vendor', '10de:1eb8=pf'];
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, 'behind=0000:00:04.0');
    await guest.run('modprobe', 'fake_vgpu', `cards=${cards}`, 'capacity=4', 'types=557:1,558:2');
    await guest.run('modprobe', 'fake_nic');
  },
  scenarios,
};
