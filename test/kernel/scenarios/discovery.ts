// The agent on a host with a real kernel: what it reports through its driver `pci`, and that the
// cloud follows what happens to the host's devices.

import assert from 'node:assert/strict';
import { timed, untilHealth } from '#test/kernel/faults.ts';
import { bindTo, type Guest } from '#test/kernel/machine/guest.ts';
import { badSector, nvmeController } from '#test/kernel/machine/machine.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  arqOf,
  createActiveServer,
  createFlavor,
  createServer,
  deleteServer,
  untilInventory,
  untilProducts,
} from '#test/kernel/servers.ts';
import { agentProgram, type Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const devices = '/sys/bus/pci/devices';
/** Slots of fake_pci. */
const gpu = '0001:00:00.0';
const nic = '0001:00:01.0';
const fpga = '0001:00:02.0';
const nvme = '0000:01:00.0';

const allowList = [
  { vendor_id: '10de', resource_class: 'PGPU' },
  { vendor_id: '8086', product_id: '0b30', resource_class: 'FPGA' },
  { vendor_id: '8086', product_id: '154c', virtual_functions: true, resource_class: 'CUSTOM_NIC' },
  { class: '0108', virtual_functions: true, resource_class: 'CUSTOM_SSD' },
];

const badMedium = 'has had an error of its medium that it could not correct';

/** Its virtual functions are offered, and its physical one stays on the driver `nvme`. */
async function divideNvme({ cloud, guest, hostname }: Stage): Promise<void> {
  await guest.write(`${devices}/${nvme}/sriov_drivers_autoprobe`, '0');
  await guest.write(`${devices}/${nvme}/sriov_numvfs`, '2');
  await untilProducts(cloud, hostname, ['2331', '0b30', '0010']);
}

/** Paths to the namespace, such as `nvme0c0n1`. */
async function pathsOf(guest: Guest): Promise<readonly string[]> {
  return (await guest.list('/sys/class/block')).filter((name) => /^nvme\d+c\d+n1$/.test(name));
}

const hasOne = (names: readonly string[]) => names.length === 1;

const scenarios: readonly Scenario[] = [
  {
    name: 'the agent reports the functions on its allow-list, and connects without errors',
    run: async (stage: Stage) => {
      const agent = await stage.startAgent({ drivers: ['pci'], pci: { allow_list: allowList } });
      await untilProducts(stage.cloud, stage.hostname, ['2331', '0b30']);
      await untilInventory(stage.cloud, `${stage.hostname}_${gpu}`, 'PGPU', 1);
      assert.deepEqual(
        agent.lines.filter((line) => line.includes('"level":"error"')),
        [],
      );
    },
  },
  {
    name: 'a server gets the GPU, whole, and gives it back',
    run: async ({ cloud }) => {
      await createFlavor(cloud, 'gpu', {
        'resources:PGPU': '1',
        'trait:CUSTOM_PCI_PRODUCT_ID_2331': 'required',
      });
      const first = await createActiveServer(cloud, 'gpu');
      const arq = await arqOf(cloud, first);
      const { state, attach_handle_type: type } = arq;
      assert.deepEqual([state, type, arq.function], ['Bound', 'PCI', gpu]);
      const second = await createServer(cloud, 'gpu');
      assert.equal(second.status, 'ERROR');
      for (const id of [first, second.id]) await deleteServer(cloud, id);
      await deleteServer(cloud, await createActiveServer(cloud, 'gpu'));
    },
  },
  {
    name: 'a card that is removed from the bus vanishes from the API until a rescan',
    run: async ({ cloud, guest, hostname }) => {
      await guest.write(`${devices}/${fpga}/remove`, '1');
      const gone = await timed(untilProducts(cloud, hostname, ['2331']));
      await guest.write('/sys/bus/pci/rescan', '1');
      const back = await timed(untilProducts(cloud, hostname, ['2331', '0b30']));
      return `gone ${gone} after the removal, offered ${back} after the rescan`;
    },
  },
  {
    name: 'a card that does not answer on the bus vanishes from the API until it answers',
    run: async ({ cloud, guest, hostname }) => {
      await guest.write('/sys/module/fake_pci/parameters/dead', '4');
      const gone = await timed(untilProducts(cloud, hostname, ['2331']));
      await guest.write('/sys/module/fake_pci/parameters/dead', '0');
      const back = await timed(untilProducts(cloud, hostname, ['2331', '0b30']));
      return `gone ${gone} after its last answer, offered ${back} after the next one`;
    },
  },
  {
    name: 'a card stays offered while vfio-pci holds it',
    run: async ({ cloud, guest, hostname }) => {
      await bindTo(guest, gpu, 'vfio-pci');
      await deleteServer(cloud, await createActiveServer(cloud, 'gpu'));
      await untilInventory(cloud, `${hostname}_${gpu}`, 'PGPU', 1);
    },
  },
  {
    name: 'virtual functions are offered as soon as they are made, those of an NVMe controller too',
    run: async ({ cloud, guest, hostname }) => {
      await guest.run('modprobe', 'fake_vgpu', 'name=fakenic', 'cards=8086:1572=vendor');
      for (const [card, count] of [
        [nic, 4],
        [nvme, 2],
      ] as const) {
        await guest.write(`${devices}/${card}/sriov_drivers_autoprobe`, '0');
        await guest.write(`${devices}/${card}/sriov_numvfs`, String(count));
      }
      await untilProducts(cloud, hostname, ['2331', '0b30', '1572', '0010']);
      await untilInventory(cloud, `${hostname}_${nic}`, 'CUSTOM_NIC', 4);
      await untilInventory(cloud, `${hostname}_${nvme}`, 'CUSTOM_SSD', 2);
      for (const card of [nic, nvme]) await guest.write(`${devices}/${card}/sriov_numvfs`, '0');
      await untilProducts(cloud, hostname, ['2331', '0b30']);
    },
  },
  {
    name: 'a sector that cannot be read is in the health of an NVMe device until QEMU removes it',
    run: async (stage) => {
      const { cloud, guest, hostname, monitor } = stage;
      await divideNvme(stage);
      const reading = ['bs=512', 'count=1', `skip=${badSector}`, 'of=/dev/null'];
      assert.notEqual((await guest.tryRun('dd', 'if=/dev/nvme0n1', ...reading)).code, 0);
      const seen = await untilHealth(stage, badMedium);
      await monitor.run('device_del', { id: 'controller' });
      const gone = await timed(untilProducts(cloud, hostname, ['2331', '0b30']));
      await monitor.run('device_add', nvmeController);
      await eventually(() => pathsOf(guest), hasOne);
      await divideNvme(stage);
      assert.ok(!(await cloud.healthOf(hostname)).includes(badMedium));
      return `seen ${seen} after the error, gone ${gone} after the removal`;
    },
  },
  {
    name: 'an NVMe device without registers is reset by the kernel, which is its health',
    run: async (stage) => {
      const { cloud, guest, hostname } = stage;
      const [path = ''] = await eventually(() => pathsOf(guest), hasOne);
      // The kernel waits 30 s for a command, twice, unless it is asked for less.
      await guest.write(`/sys/class/block/${path}/queue/io_timeout`, '2000');
      // The register Command of the configuration space, with its bit for memory off.
      const command = `of=${devices}/${nvme}/config bs=1 seek=4 conv=notrunc`;
      await guest.run('sh', '-c', `printf '\\004' | dd ${command}`);
      const from = ['if=/dev/nvme0n1', 'bs=64k', 'count=4', 'of=/dev/null'];
      const reader = await guest.start('reader', ['dd', ...from]);
      const reset = 'was reset by its driver nvme after a command without an answer';
      const seen = await untilHealth(stage, reset);
      await reader.stop();
      await guest.write(`${devices}/${nvme}/sriov_numvfs`, '0');
      await guest.write(`${devices}/${nvme}/remove`, '1');
      await guest.write('/sys/bus/pci/rescan', '1');
      await divideNvme(stage);
      const over = await untilHealth(stage, reset, false);
      await guest.write(`${devices}/${nvme}/sriov_numvfs`, '0');
      await untilProducts(cloud, hostname, ['2331', '0b30']);
      return `seen ${seen} after the command, with limits of 2 s; over ${over} after a rescan`;
    },
  },
  {
    name: 'a device whose character device a program has open is not taken from the host',
    run: async ({ guest }) => {
      const config = '/etc/cyborg-agent/nodes.json';
      const own = JSON.parse(await guest.read('/etc/cyborg-agent/agent.json')) as object;
      const pci = { allow_list: [{ address: nvme, bind_to: 'vfio-pci' }] };
      const settings = { ...own, pci, drivers: ['pci'], state_dir: '/var/lib/nodes' };
      await guest.save(config, JSON.stringify(settings));
      const plan = () =>
        guest.run('env', `CYBORG_AGENT_CONFIG=${config}`, 'node', agentProgram, 'plan');
      assert.doesNotMatch(await plan(), /is open/);
      for (const node of ['/dev/nvme0', '/dev/ng0n1']) {
        const program = `fs.openSync('${node}'); console.log('held'); setInterval(() => {}, 1000)`;
        const holder = await guest.start('holder', ['node', '-e', program]);
        await holder.line((line) => line === 'held');
        assert.match(await plan(), new RegExp(`is open: process \\d+ \\(.*\\) uses ${node}`));
        await holder.stop();
      }
      assert.doesNotMatch(await plan(), /is open/);
    },
  },
  {
    name: 'apply makes and binds virtual functions, and assert then finds the host as the settings say',
    run: async ({ cloud, guest, hostname }) => {
      const config = '/etc/cyborg-agent/setup.json';
      const own = JSON.parse(await guest.read('/etc/cyborg-agent/agent.json')) as object;
      const entry = { vendor_id: '8086', product_id: '154c', virtual_functions: 2 };
      const pci = { allow_list: [{ ...entry, bind_to: 'vfio-pci' }] };
      // Another state than that of the agent that runs, which has the lock of its own.
      const settings = { ...own, pci, drivers: ['pci'], state_dir: '/var/lib/setup' };
      await guest.save(config, JSON.stringify(settings));
      const run = (command: string, file = config) =>
        guest.tryRun('env', `CYBORG_AGENT_CONFIG=${file}`, 'node', agentProgram, command);
      const difference = `The number of virtual functions of ${nic} is 0, not 2.\n`;
      assert.deepEqual(await run('plan'), { code: 0, stdout: difference, stderr: '' });
      assert.equal((await run('assert')).code, 1);
      assert.equal(await guest.read(`${devices}/${nic}/sriov_numvfs`), '0');
      const refused = await run('apply', '/etc/cyborg-agent/agent.json');
      assert.match(refused.stderr, /an agent runs with/);
      const applied = await run('apply');
      assert.deepEqual([applied.code, applied.stderr], [0, '']);
      for (const link of ['virtfn0', 'virtfn1']) {
        const address = await guest.link(`${devices}/${nic}/${link}`);
        assert.equal(await guest.link(`${devices}/${address}/driver`), 'vfio-pci');
      }
      for (const command of ['assert', 'apply']) {
        const stdout = 'The host is as the settings say.\n';
        assert.deepEqual(await run(command), { code: 0, stdout, stderr: '' });
      }
      await untilInventory(cloud, `${hostname}_${nic}`, 'CUSTOM_NIC', 2);
      await guest.write(`${devices}/${nic}/sriov_numvfs`, '0');
      await untilProducts(cloud, hostname, ['2331', '0b30']);
    },
  },
];

export const discovery: Group = {
  name: 'discovery',
  hostname: 'kernel-1.example',
  prepare: async ({ guest }: Stage) => {
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
    const functions = ['10de:2331:030200', '8086:1572:020000:4:154c', '8086:0b30:120000'];
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, 'behind=0000:00:04.0');
  },
  scenarios,
};
