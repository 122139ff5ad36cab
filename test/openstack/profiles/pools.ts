// Servers with several units of a board, all on one NUMA node. Nova and Placement are real; the
// board is simulated: a directory in sysfs's form, which the agent's driver `pci` reads. Nova's
// fake hypervisor attaches nothing.

import assert from 'node:assert/strict';
import { isSizeTrait } from '#core/domain/pool/pool-sizes.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import { ownProvider, providersOf } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  assertHas,
  assertNeverActive,
  assertNothingLeft,
  build,
  create,
  offer,
  remove,
  removeCleanly,
  untilBuilt,
} from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { type Arq, eventually } from '#test/support/suites/rest.ts';

const product = '2330';
const pool = 'board0';

/** Entries of the allow-list of driver `pci`. */
export const boardCards = [
  { vendor_id: '10de', product_id: product, resource_class: 'PGPU', pool },
];

/** Each a NUMA node; the first two of the first node share an IOMMU group. */
const nodes = [
  ['0000:41:00.0', '0000:42:00.0', '0000:43:00.0', '0000:44:00.0'],
  ['0000:81:00.0', '0000:82:00.0', '0000:83:00.0', '0000:84:00.0'],
];
const [pair = []] = nodes.map((node) => node.slice(0, 2));
const sizes = (amount: number) => `CUSTOM_ACCEL_SAME_NUMA_${amount}`;

export const pools: readonly Scenario[] = [
  {
    name: 'a pool: servers get units of one NUMA node, and no third one gets what is not together',
    run: async (stage) => {
      await addBoard(stage);
      for (const amount of [1, 2, 4]) {
        const group = { 'resources:PGPU': String(amount), 'accel:same': 'numa' };
        await offer(stage, `board-${amount}`, [group]);
      }
      const first = await build(stage, 'board-4');
      assertOneNode(await assertHas(stage, first, 4));
      await untilSizes(stage, (traits) => traits.includes(sizes(4)));
      const single = await build(stage, 'board-1');
      assertOneNode(await assertHas(stage, single, 1));
      // Three are free on one node: no four together, and Placement knows it.
      await untilSizes(stage, (traits) => traits.includes(sizes(2)) && !traits.includes(sizes(4)));
      const refused = await create(stage, 'board-4');
      const fault = await assertNeverActive(stage, refused);
      assert.match(fault, /No valid host/);
      await removeCleanly(stage, refused);
      await removeCleanly(stage, first.id);
      await untilSizes(stage, (traits) => traits.includes(sizes(4)));
      const again = await build(stage, 'board-4');
      assertOneNode(await assertHas(stage, again, 4));
      for (const { id } of [single, again]) await removeCleanly(stage, id);
      return `${fault.slice(0, 60)}; four together after ${again.seconds.toFixed(1)} s`;
    },
  },
  {
    name: 'a pool: twelve servers at once for the eight units of a board',
    run: async (stage) => {
      await untilSizes(stage, (traits) => traits.includes(sizes(4)));
      const flavors = ['board-1', 'board-2', 'board-1', 'board-2'];
      const all = [...flavors, ...flavors, ...flavors];
      const ids = await Promise.all(all.map((flavor) => create(stage, flavor)));
      const held: string[] = [];
      let active = 0;
      for (const [index, id] of ids.entries()) {
        const server = await untilBuilt(stage, id, 300);
        // Nova may keep what it has allocated for it until its delete.
        if (server.status === 'ERROR') continue;
        active += 1;
        const amount = Number(all[index]?.split('-')[1]);
        const arqs = await assertHas(stage, { ...server, id }, amount);
        assertOneNode(arqs);
        held.push(...functionsOf(arqs));
      }
      assert.equal(new Set(held).size, held.length, 'a unit belongs to two servers');
      assert.ok(active > 0, 'no server has become ACTIVE');
      for (const id of ids) await remove(stage, id);
      for (const id of ids) await assertNothingLeft(stage, id);
      await removeBoard(stage);
      return `${active} of ${ids.length} ACTIVE with ${held.length} of 8 units`;
    },
  },
];

function functionsOf(arqs: readonly Arq[]): string[] {
  return arqs.flatMap(({ attach_handle_info: info }) => pciFunction({ info }) ?? []);
}

/** All on one node, and both of the pair or none. */
function assertOneNode(arqs: readonly Arq[]): void {
  const functions = functionsOf(arqs);
  assert.ok(
    nodes.some((node) => functions.every((each) => node.includes(each))),
    `${functions.join(', ')} are on several nodes`,
  );
  const ofPair = pair.filter((each) => functions.includes(each)).length;
  assert.ok(ofPair === 0 || ofPair === 2, `${functions.join(', ')} have half of a pair`);
}

/** The agent discovers it. */
async function addBoard(stage: Stage): Promise<void> {
  for (const [numaNode, addresses] of nodes.entries()) {
    for (const address of addresses) {
      const isOfPair = pair.includes(address);
      const group = isOfPair ? { iommuGroup: 400 } : {};
      stage.sysfs.addFunction({ address, product, numaNode, ...group });
    }
  }
  await eventually(
    () => stage.admin.placement.try('GET', `${ownProvider(stage, pool)}/inventories`),
    ({ status, body }) => status === 200 && body.inventories.PGPU?.total === 8,
  );
  await untilSizes(stage, (traits) => traits.includes(sizes(4)));
}

async function removeBoard(stage: Stage): Promise<void> {
  for (const address of nodes.flat()) stage.sysfs.removeFunction(address);
  await eventually(
    () => providersOf(stage),
    (providers) => providers.every(({ name }) => !name.endsWith(pool)),
  );
}

async function untilSizes(stage: Stage, isMet: (traits: readonly string[]) => boolean) {
  await eventually(async () => {
    const { status, body } = await stage.admin.placement.try(
      'GET',
      `${ownProvider(stage, pool)}/traits`,
    );
    return status === 200 ? (body.traits as string[]).filter(isSizeTrait) : [];
  }, isMet);
}
