// The agent takes no device from the host while a program has a node of it open, whatever the
// vendor's driver calls its nodes, and whether or not the kernel says of which device each is.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Guest, GuestProcess } from '#test/kernel/machine/guest.ts';
import type { Group, Scenario } from '#test/kernel/scenario.ts';
import { agentProgram, bundle } from '#test/kernel/stage.ts';

/** Slots of fake_pci, by the driver of fake_nodes that binds them. */
const cards = {
  habanalabs: { ids: '1da3:1020:120000', addresses: ['0001:00:00.0'] },
  mlx5_core: { ids: '15b3:101e:020000', addresses: ['0001:00:01.0'] },
  amdgpu: { ids: '1002:74a1:120000', addresses: ['0001:00:02.0', '0001:00:03.0'] },
  devdrv_device_driver: { ids: '19e5:d802:120000', addresses: ['0001:00:04.0'] },
  neuron: { ids: '1d0f:7364:120000', addresses: ['0001:00:05.0', '0001:00:06.0'] },
  cambricon: { ids: 'cabc:0370:120000', addresses: ['0001:00:07.0'] },
  kunlun: { ids: '1d22:3684:120000', addresses: ['0001:00:08.0'] },
  apex: { ids: '1ac1:089a:120000', addresses: ['0001:00:09.0'] },
} as const;
const [firstGpu, secondGpu] = cards.amdgpu.addresses;
/** Its driver is not known to the guards. */
const unlisted = '0001:00:0a.0';

interface Node {
  readonly name: string;
  readonly class: string;
  /** In sysfs, the node is below this function. */
  readonly below?: string;
  /** A device between both. */
  readonly between?: string;
  /** What may be in use while the node is open. */
  readonly refuses: readonly string[];
}

const allGpus = cards.amdgpu.addresses;
const nodes: readonly Node[] = [
  // The kernel says of which device they are.
  below('accel/accel0', 'accel', cards.habanalabs.addresses[0]),
  below('infiniband/uverbs0', 'infiniband_verbs', cards.mlx5_core.addresses[0]),
  { ...below('vhost-vdpa-0', 'vhost-vdpa', cards.mlx5_core.addresses[0]), between: 'vdpa0' },
  below('dri/card0', 'drm', firstGpu),
  below('dri/renderD128', 'drm', firstGpu),
  below('dri/renderD129', 'drm', secondGpu),
  below('apex_0', 'apex', cards.apex.addresses[0]),
  // It does not say so: each card of the driver may be in use.
  { name: 'kfd', class: 'kfd', refuses: allGpus },
  { name: 'hl_controlD0', class: 'habanalabs', refuses: cards.habanalabs.addresses },
  { name: 'davinci0', class: 'davinci', refuses: cards.devdrv_device_driver.addresses },
  { name: 'davinci_manager', class: 'davinci', refuses: cards.devdrv_device_driver.addresses },
  { name: 'neuron0', class: 'neuron_device', refuses: cards.neuron.addresses },
  { name: 'cambricon_dev0', class: 'cambricon', refuses: cards.cambricon.addresses },
  { name: 'cambricon_ctl', class: 'cambricon', refuses: cards.cambricon.addresses },
  { name: 'xpu0', class: 'kunlun', refuses: cards.kunlun.addresses },
  { name: 'xpuctrl', class: 'kunlun', refuses: cards.kunlun.addresses },
];

function below(name: string, ofClass: string, address: string): Node {
  return { name, class: ofClass, below: address, refuses: [address] };
}

const settingsFile = '/etc/cyborg-agent/nodes.json';

function plan(guest: Guest): Promise<string> {
  return guest.run('env', `CYBORG_AGENT_CONFIG=${settingsFile}`, 'node', agentProgram, 'plan');
}

/** The devices that `plan` does not take from the host now, each with the node that is open. */
async function refusedNow(guest: Guest): Promise<ReadonlyMap<string, string>> {
  const found = (await plan(guest)).matchAll(/(\S+) is open: process \d+ \(\w+\) uses (\S+)\.$/gm);
  return new Map([...found].map(([, address = '', node = '']) => [address, node]));
}

/** Starts a program that has the node open until it is stopped. */
async function open(guest: Guest, node: string): Promise<GuestProcess> {
  const script = 'exec 3<"$0"; echo held; exec sleep 999';
  const holder = await guest.start(`holder of ${node}`, ['sh', '-c', script, node]);
  await holder.line((line) => line === 'held');
  return holder;
}

/** Few rounds, in each of which no card is refused by two nodes: a `plan` takes seconds. */
function inRounds(): readonly (readonly Node[])[] {
  const rounds: Node[][] = [];
  for (const node of nodes) {
    const isFree = ({ refuses }: Node) => !refuses.some((each) => node.refuses.includes(each));
    const round = rounds.find((others) => others.every(isFree));
    if (round) round.push(node);
    else rounds.push([node]);
  }
  return rounds;
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the kernel says of nodes below a function which one it is, and of others nothing',
    run: async ({ guest }) => {
      for (const { name, below: function_ } of nodes) {
        const numbers = await guest.run('stat', '-c', '%t %T', `/dev/${name}`);
        const [major = '', minor = ''] = numbers.trim().split(' ');
        const entry = `/sys/dev/char/${Number.parseInt(major, 16)}:${Number.parseInt(minor, 16)}`;
        const place = await guest.run('readlink', entry);
        assert.ok(place.includes(function_ ?? '/virtual/'), `${name}: ${place}`);
      }
    },
  },
  {
    name: 'a card is not taken from the host while a program has its node open, and is afterwards',
    run: async ({ guest }) => {
      assert.deepEqual(await refusedNow(guest), new Map());
      for (const round of inRounds()) {
        const holders = [];
        for (const { name } of round) holders.push(await open(guest, `/dev/${name}`));
        const expected = round.flatMap(({ name, refuses }) =>
          refuses.map((address) => [address, `/dev/${name}`] as const),
        );
        const sorted = (found: Iterable<readonly [string, string]>) => [...found].sort();
        assert.deepEqual(sorted(await refusedNow(guest)), sorted(expected));
        for (const holder of holders) await holder.stop();
      }
      assert.deepEqual(await refusedNow(guest), new Map());
    },
  },
  {
    name: 'a card whose driver the guards do not know is not taken from the host at all',
    run: async ({ guest }) => {
      assert.match(await plan(guest), new RegExp(`${unlisted} may be in use: .* driver unlisted`));
    },
  },
];

/** For modprobe. */
function describeNode({ name, class: ofClass, below: function_, between }: Node): string {
  return [name.replaceAll('/', '!'), ofClass, function_, between].filter(Boolean).join('@');
}

export const openNodes: Group = {
  name: 'open nodes',
  prepare: async ({ guest }) => {
    const own = Object.values(cards).flatMap(({ ids, addresses }) => addresses.map(() => ids));
    const functions = [...own, '1234:5678:120000'];
    const drivers = Object.entries(cards).map(([name, { ids }]) => `${name}:${ids.split(':')[0]}`);
    await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
    await guest.run('modprobe', 'fake_pci', `devs=${functions}`, 'behind=0000:00:04.0');
    await guest.run(
      'modprobe',
      'fake_nodes',
      `drivers=${[...drivers, 'unlisted:1234']}`,
      `nodes=${nodes.map(describeNode)}`,
    );
    await guest.save(agentProgram, readFileSync(bundle));
    const addresses = [...Object.values(cards).flatMap((each) => each.addresses), unlisted];
    const allow = addresses.map((address) => ({ address, bind_to: 'vfio-pci' }));
    // `plan` connects to nothing, but asks for the files of an identity.
    const unused = '/etc/cyborg-agent/unused.pem';
    await guest.save(unused, 'nothing');
    const identity = { certificate: unused, key: unused, ca: unused };
    const settings = {
      hostname: 'kernel-nodes.example',
      stage: 'kernel',
      endpoint: 'localhost:8883',
      ...identity,
      drivers: ['pci'],
      pci: { allow_list: allow },
    };
    await guest.save(settingsFile, JSON.stringify(settings));
  },
  scenarios,
};
