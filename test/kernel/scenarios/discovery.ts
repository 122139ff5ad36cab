// The agent on a host with a real kernel: what it reports through its driver `pci`, and that the
// cloud follows what happens to the host's devices.

import assert from 'node:assert/strict';
import { bindTo } from '#test/kernel/guest.ts';
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
      await untilProducts(cloud, hostname, ['2331']);
      await guest.write('/sys/bus/pci/rescan', '1');
      await untilProducts(cloud, hostname, ['2331', '0b30']);
    },
  },
  {
    name: 'a card that does not answer on the bus vanishes from the API until it answers',
    run: async ({ cloud, guest, hostname }) => {
      await guest.write('/sys/module/fake_pci/parameters/dead', '4');
      await untilProducts(cloud, hostname, ['2331']);
      await guest.write('/sys/module/fake_pci/parameters/dead', '0');
      await untilProducts(cloud, hostname, ['2331', '0b30']);
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
