// Pools of the driver `pci` over two NUMA nodes and two PCIe switches of QEMU: the kernel reads
// the places of the functions from the tables of the firmware and from the tree of bridges.

import assert from 'node:assert/strict';
import { bindTo, type Guest, type GuestProcess } from '#test/kernel/machine/guest.ts';
import { numaBoard, type Serial } from '#test/kernel/machine/numa-board.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import {
  createActiveServer,
  createFlavor,
  createServer,
  deleteServer,
} from '#test/kernel/servers.ts';
import { agentProgram, type Stage } from '#test/kernel/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const functions = '/sys/bus/pci/devices';
const hostname = 'kernel-7.example';
/** On the bus of the chipset, whose NUMA node the firmware does not say. */
const unplaced = '0000:01:00.0';
const serials = Object.keys(numaBoard.spots) as Serial[];
/** By serial number. */
const addresses: Record<string, string> = {};
const running: { agent?: GuestProcess } = {};

/** A switch is named by its upstream port. */
const upstreamPort = 'PCI_ID=104C:8232';

interface Unit {
  readonly address: string;
  readonly numa: number | null;
  readonly root: string | null;
  readonly switch: string | null;
  readonly set: string | null;
  readonly instance_uuid: string | null;
}

interface Topology {
  readonly units: readonly Unit[];
  readonly pools: readonly Readonly<Record<string, unknown>>[];
}

async function topologyOf({ cloud }: Stage): Promise<Topology> {
  return JSON.parse(await cloud.ops('hosts', 'topology', hostname, '--json')) as Topology;
}

/** Waits until the pool has exactly these functions. */
async function untilUnits(stage: Stage, expected: readonly string[]): Promise<readonly Unit[]> {
  const { units } = await eventually(
    () => topologyOf(stage),
    (topology) => addressesIn(topology.units).join() === expected.toSorted().join(),
    120,
  );
  return units;
}

function addressesIn(units: readonly Unit[]): string[] {
  return units.map(({ address }) => address).sort();
}

/** Waits until the host does not offer exactly these, for these reasons. */
async function untilNotOffered({ cloud }: Stage, expected: Readonly<Record<string, string>>) {
  const read = async () => {
    const host = JSON.parse(await cloud.ops('hosts', 'show', hostname, '--json')) as {
      not_offered: { address: string; reason: string }[];
    };
    const rows = host.not_offered.map(({ address, reason }) => [address, reason]);
    return Object.fromEntries(rows) as Record<string, string>;
  };
  const isExpected = (found: object) =>
    Object.keys(found).sort().join() === Object.keys(expected).sort().join();
  assert.deepEqual(await eventually(read, isExpected, 120), expected);
}

function addressOf(serial: Serial): string {
  const address = addresses[serial];
  assert.ok(address, `The guest has no controller ${serial}.`);
  return address;
}

/** The functions from the root port down to this one. */
async function pathTo(guest: Guest, address: string): Promise<readonly string[]> {
  const path = (await guest.run('readlink', '-f', `${functions}/${address}`)).trim();
  return path.split('/').filter((step) => /^\w{4}:\w\w:\w\w\.\w$/.test(step));
}

/** As sysfs has it. */
async function placeOf(guest: Guest, address: string) {
  const above = (await pathTo(guest, address)).slice(0, -1);
  const switches: string[] = [];
  for (const port of above) {
    const uevent = await guest.read(`${functions}/${port}/uevent`);
    if (uevent.includes(upstreamPort)) switches.push(port);
  }
  const numa = Number(await guest.read(`${functions}/${address}/numa_node`));
  return { numa: numa < 0 ? null : numa, root: above[0], switch: switches.at(-1) ?? null };
}

/** What the agent would offer and refuse with pools by another place. */
async function examine({ guest }: Stage, by: string): Promise<readonly string[]> {
  const config = '/etc/cyborg-agent/examined.json';
  const own = JSON.parse(await guest.read('/etc/cyborg-agent/agent.json')) as object;
  const settings = { ...own, ...settingsFor(by), state_dir: '/var/lib/examined' };
  await guest.save(config, JSON.stringify(settings));
  const command = ['env', `CYBORG_AGENT_CONFIG=${config}`, 'node', agentProgram, 'self-test'];
  const { stdout } = await guest.tryRun(...command);
  const lines =
    /^(?:not )?seen +pci (\S+: )Is (?:offered as|not offered: it) (.*?)(?:, vendor.*)?\.$/gm;
  return [...stdout.matchAll(lines)].map(([, name = '', what = '']) => name + what).sort();
}

function settingsFor(by: string) {
  const ssds = { class: '0108', resource_class: 'CUSTOM_SSD', bind_to: 'vfio-pci', pool: 'ssd' };
  return { drivers: ['pci'], pci: { allow_list: [ssds], pools: [{ name: 'ssd', by }] } };
}

/** The block device appears some time after its controller is bound. @returns its name */
async function mountDisk(guest: Guest): Promise<string> {
  const [block = ''] = await eventually(
    async () => (await guest.list('/sys/class/block')).filter((name) => /^nvme\d+n1$/.test(name)),
    (found) => found.length === 1,
  );
  await guest.run('mke2fs', `/dev/${block}`);
  await guest.run('mkdir', '-p', '/mnt');
  await guest.run('mount', '-t', 'ext4', `/dev/${block}`, '/mnt');
  return block;
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the units of a pool have the NUMA node, root port and switch of sysfs and of QEMU',
    run: async (stage) => {
      const { guest } = stage;
      running.agent = await stage.startAgent(settingsFor('host'));
      const units = await untilUnits(stage, [...Object.values(addresses), unplaced]);
      for (const unit of units) {
        const { numa, root, switch: above } = unit;
        assert.deepEqual({ numa, root, switch: above }, await placeOf(guest, unit.address));
      }
      for (const serial of serials) {
        const spot = numaBoard.spots[serial];
        const unit = units.find(({ address }) => address === addressOf(serial));
        assert.deepEqual([unit?.numa, unit?.root], [spot.numa, spot.root], serial);
        assert.equal(unit?.switch !== null, spot.isBelowSwitch, serial);
      }
      assert.equal(units.find(({ address }) => address === unplaced)?.numa, null);
    },
  },
  {
    name: 'the functions of an IOMMU group are one set, by switch and by device',
    run: async (stage) => {
      const { guest } = stage;
      const { units, pools } = await topologyOf(stage);
      const bySet = Object.groupBy(units, ({ set }) => set ?? 'none');
      for (const set of numaBoard.sets) {
        const members = set.map(addressOf).sort();
        assert.deepEqual(addressesIn(bySet[members[0] ?? ''] ?? []), members);
        const groups = members.map((each) => guest.link(`${functions}/${each}/iommu_group`));
        assert.equal(new Set(await Promise.all(groups)).size, 1);
      }
      assert.equal(bySet.none?.length, units.length - numaBoard.sets.flat().length);
      const together = { switch: 3, root: 3, numa: 4, board: 8 };
      assert.partialDeepStrictEqual(pools, [{ units: 8, free: 8, together }]);
    },
  },
  {
    name: 'servers get units of one switch and of one NUMA node, and the topology shows who',
    run: async (stage) => {
      const { cloud } = stage;
      const flavors = [
        ['pair', '2', 'switch'],
        ['four', '4', 'numa'],
      ] as const;
      for (const [name, amount, same] of flavors) {
        await createFlavor(cloud, name, { 'resources:CUSTOM_SSD': amount, 'accel:same': same });
      }
      const pair = await createActiveServer(cloud, 'pair');
      const four = await createActiveServer(cloud, 'four');
      const { units } = await topologyOf(stage);
      const heldBy = (id: string) => addressesIn(units.filter((each) => each.instance_uuid === id));
      assert.deepEqual(heldBy(pair), [addressOf('a'), addressOf('b')].sort());
      const second = (['d', 'e0', 'e1', 'f'] as const).map(addressOf);
      assert.deepEqual(heldBy(four), second.sort());
      const { id, status } = await createServer(cloud, 'pair');
      assert.equal(status, 'ERROR', 'no switch has two free units');
      const unit = (serial: Serial, holder: string) =>
        `${addressOf(serial)}  of ssd  CUSTOM_SSD  ${holder}`;
      assert.equal(
        await cloud.ops('hosts', 'topology', hostname),
        [
          'NUMA node 0',
          '  root port 0000:40:00.0',
          `    switch ${(await placeOf(stage.guest, addressOf('a'))).switch}`,
          `      ${unit('a', `server ${pair}  set ${addressOf('a')}`)}`,
          `      ${unit('b', `server ${pair}  set ${addressOf('a')}`)}`,
          '  root port 0000:40:01.0',
          `    ${unit('c', 'free')}`,
          'NUMA node 1',
          '  root port 0000:80:00.0',
          `    switch ${(await placeOf(stage.guest, addressOf('d'))).switch}`,
          `      ${unit('d', `server ${four}`)}`,
          `      ${unit('e0', `server ${four}  set ${addressOf('e0')}`)}`,
          `      ${unit('e1', `server ${four}  set ${addressOf('e0')}`)}`,
          '  root port 0000:80:01.0',
          `    ${unit('f', `server ${four}`)}`,
          'root port 0000:00:05.0',
          `  ${unplaced}  of ssd  CUSTOM_SSD  free`,
          'pool ssd: 2 of 8 units free; together at most 0 of one switch, 1 of one root, 1 of one numa, 2 of one board',
          '',
        ].join('\n'),
      );
      for (const each of [id, pair, four]) await deleteServer(cloud, each);
    },
  },
  {
    name: 'a pool is divided by NUMA node, root port or switch, and takes no unit without such a place',
    run: async (stage) => {
      const { guest } = stage;
      assert.deepEqual(await examine(stage, 'numa'), [
        `${unplaced}: is in a pool by numa, and its numa is not known`,
        'ssd-0: 3 CUSTOM_SSD',
        'ssd-1: 4 CUSTOM_SSD',
      ]);
      assert.deepEqual(await examine(stage, 'root'), [
        'ssd-000000050: 1 CUSTOM_SSD',
        'ssd-000040000: 2 CUSTOM_SSD',
        'ssd-000040010: 1 CUSTOM_SSD',
        'ssd-000080000: 3 CUSTOM_SSD',
        'ssd-000080010: 1 CUSTOM_SSD',
      ]);
      const names: string[] = [];
      for (const serial of ['a', 'd'] as const) {
        const { switch: above } = await placeOf(guest, addressOf(serial));
        names.push(`ssd-${above?.replaceAll(/[:.]/g, '')}`);
      }
      const without = [unplaced, addressOf('c'), addressOf('f')];
      assert.deepEqual(await examine(stage, 'switch'), [
        ...without.map((each) => `${each}: is in a pool by switch, and its switch is not known`),
        `${names[0]}: 2 CUSTOM_SSD`,
        `${names[1]}: 3 CUSTOM_SSD`,
      ]);
    },
  },
  {
    name: 'a unit with a mounted file system leaves the pool with its set, each with its sentence',
    run: async (stage) => {
      const { guest } = stage;
      // The agent would bind the function back before it has a mount.
      await running.agent?.stop();
      await bindTo(guest, addressOf('e1'), 'nvme');
      const block = await mountDisk(guest);
      running.agent = await stage.startAgent(settingsFor('host'));
      const mounted = `has a mounted file system: ${block} at /mnt`;
      const group = await guest.link(`${functions}/${addressOf('e1')}/iommu_group`);
      const shares = `shares IOMMU group ${group} with ${addressOf('e1')}`;
      await untilNotOffered(stage, {
        [addressOf('e0')]: `${shares}, which the host's driver nvme holds`,
        [addressOf('e1')]: mounted,
      });
      const others = serials.filter((each) => each !== 'e0' && each !== 'e1').map(addressOf);
      await untilUnits(stage, [...others, unplaced]);
      await guest.run('umount', '/mnt');
      await untilNotOffered(stage, {});
      await untilUnits(stage, [...Object.values(addresses), unplaced]);
    },
  },
  {
    name: 'units leave the pool when they, or the switch above them, are removed, until a rescan',
    run: async (stage) => {
      const { guest } = stage;
      await guest.write(`${functions}/${addressOf('f')}/remove`, '1');
      const { switch: above } = await placeOf(guest, addressOf('a'));
      await guest.write(`${functions}/${above}/remove`, '1');
      const left = serials.filter((each) => !['a', 'b', 'f'].includes(each)).map(addressOf);
      await untilUnits(stage, [...left, unplaced]);
      await guest.write('/sys/bus/pci/rescan', '1');
      await untilUnits(stage, [...Object.values(addresses), unplaced]);
    },
  },
];

export const pools: Group = {
  name: 'Pools',
  hostname,
  numa: true,
  prepare: async ({ guest }: Stage) => {
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
    const controllers = await guest.list('/sys/class/nvme');
    for (const each of controllers) {
      const serial = await guest.read(`/sys/class/nvme/${each}/serial`);
      const address = await guest.read(`/sys/class/nvme/${each}/address`);
      if (address !== unplaced) addresses[serial] = address;
    }
  },
  scenarios,
};
