// A card that an operator divides otherwise while servers have units of it: other types of vGPUs,
// fewer or other virtual functions.

import assert from 'node:assert/strict';
import { act, restartCompute } from '#test/openstack/nodes.ts';
import { ownProvider, providersOf } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  assertAllVgpusFree,
  assertHas,
  type Built,
  build,
  offer,
  remove,
  removeCleanly,
} from '#test/openstack/servers.ts';
import {
  addFunctions,
  addVirtualFunction,
  removeCard,
  removeFunctions,
  resourceClass,
  untilOffered,
  virtualFunction,
} from '#test/openstack/simulated-card.ts';
import { incidentsOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

const card = '0000:0e:00.0';
const [before, after] = ['fake-2', 'fake-1'] as const;
const typeTrait = (type: string) => `CUSTOM_ABCD_9B01_${type.toUpperCase().replace('-', '_')}`;

interface Units {
  readonly total: number;
  readonly reserved: number;
  readonly used: number;
}

/** Below zero where units are reserved that servers have. */
const free = ({ total, reserved, used }: Units) => total - reserved - used;

export const dividedAnew: readonly Scenario[] = [
  {
    name: 'a card divided anew: a server keeps its vGPU of a type that the card no longer has',
    run: async (stage) => {
      const old = { provider: ownProvider(stage, `${card}_${before}`), type: 'VGPU' };
      const other = { provider: ownProvider(stage, `${card}_${after}`), type: 'VGPU' };
      await offer(stage, 'smaller', [
        { 'resources:VGPU': '1', [`trait:${typeTrait(after)}`]: 'required' },
      ]);
      const holder = await build(stage, 'vgpu');
      const held = await assertHas(stage, holder, 1);
      stage.setFaults({ types: [after] });
      const left = await untilUnits(stage, old, (units) => free(units) <= 0);
      assert.equal(left.used, 1);
      await untilUnits(stage, other, (units) => free(units) === 2);
      assert.deepEqual(await assertHas(stage, holder, 1), held);
      const refused = await build(stage, 'vgpu');
      assert.equal(refused.status, 'ERROR');
      await remove(stage, refused.id);
      // nova-compute reads the tree of providers at its start, and writes its own part of it.
      await restartCompute(stage, stage.cloud.plan.computeHost);
      const others = await buildEach(stage, 'smaller', 2);
      assert.equal(await act(stage, holder.id, { reboot: { type: 'HARD' } }), 'ACTIVE');
      assert.deepEqual(await assertHas(stage, holder, 1), held);
      assert.ok(await isInTree(stage, old), 'the unit of a server has left its node');
      assert.deepEqual(await incidentsOf(stage, holder.id), []);
      await removeCleanly(stage, holder.id);
      await eventually(
        () => isInTree(stage, old),
        (isThere) => !isThere,
        60,
      );
      const freed = await untilUnits(stage, other, (units) => free(units) === 2);
      others.push(...(await buildEach(stage, 'smaller', 2)));
      for (const { id } of others) await removeCleanly(stage, id);
      stage.setFaults();
      await assertAllVgpusFree(stage);
      return `${shown(left)} while it was held; ${shown(freed)} of ${after} afterwards`;
    },
  },
  {
    name: 'a card divided anew: a server whose function comes back keeps it, and others are free',
    run: async (stage) => {
      addFunctions(stage);
      addVirtualFunction(stage, 2);
      await untilOffered(stage, 2);
      await offer(stage, 'a-function', [{ [`resources:${resourceClass}`]: '1' }]);
      const holder = await build(stage, 'a-function');
      const [arq] = await assertHas(stage, holder, 1);
      const place = { provider: ownProvider(stage, virtualFunction(0)), type: resourceClass };
      removeFunctions(stage);
      const [reason] = await eventually(
        () => incidentsOf(stage, holder.id),
        ({ length }) => length > 0,
      );
      const lost = await untilUnits(stage, place, (units) => free(units) <= 0);
      assert.ok(lost.total >= lost.used && lost.used === 1, shown(lost));
      const usual = await build(stage, 'fpga');
      await removeCleanly(stage, usual.id);
      for (const number of [1, 2, 3, 4]) addVirtualFunction(stage, number);
      await eventually(
        () => incidentsOf(stage, holder.id),
        ({ length }) => length === 0,
        60,
      );
      const again = await untilUnits(stage, place, (units) => free(units) === 3);
      assert.equal(again.used, 1);
      assert.deepEqual(await assertHas(stage, holder, 1), [arq]);
      const others = await buildEach(stage, 'a-function', 3);
      for (const { id } of [holder, ...others]) await removeCleanly(stage, id);
      await removeCard(stage);
      return `${reason} Placement meanwhile: ${shown(lost)}`;
    },
  },
];

async function buildEach(stage: Stage, flavor: string, count: number): Promise<Built[]> {
  const built: Built[] = [];
  for (let left = count; left > 0; left -= 1) {
    const each = await build(stage, flavor);
    await assertHas(stage, each, 1);
    built.push(each);
  }
  return built;
}

interface Place {
  /** Its path in Placement. */
  readonly provider: string;
  /** The resource class. */
  readonly type: string;
}

/** Never fewer than are used: Placement and nova-compute would refuse each other's writes. */
function untilUnits(stage: Stage, place: Place, isReached: (units: Units) => boolean) {
  return eventually(
    async () => {
      const units = await unitsOf(stage, place);
      if (units) assert.ok(units.total >= units.used, shown(units));
      return units ?? { total: 0, reserved: 0, used: 0 };
    },
    isReached,
    60,
  );
}

async function isInTree(stage: Stage, { provider }: Place): Promise<boolean> {
  return (await providersOf(stage)).some(({ uuid }) => provider.endsWith(uuid));
}

async function unitsOf({ admin }: Stage, { provider, type }: Place): Promise<Units | undefined> {
  const { status, body } = await admin.placement.try('GET', `${provider}/inventories/${type}`);
  if (status === 404) return undefined;
  const { allocations } = (await admin.placement.ask('GET', `${provider}/allocations`)).body;
  const used = Object.values(allocations).reduce(
    (sum, each) => sum + (each.resources[type] ?? 0),
    0,
  );
  return { total: body.total, reserved: body.reserved, used };
}

const shown = ({ total, reserved, used }: Units) =>
  `total ${total}, reserved ${reserved}, used ${used}`;
