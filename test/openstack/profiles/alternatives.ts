// Servers that get this device, or else that one. Nova and Placement are real; the cards are a
// directory in sysfs's form, which the agent's driver `pci` reads.

import assert from 'node:assert/strict';
import { ownProvider, providersOf } from '#test/openstack/providers.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  assertHas,
  assertNothingLeft,
  create,
  offer,
  remove,
  removeCleanly,
  untilBuilt,
} from '#test/openstack/servers.ts';
import { operatorOf, type Stage } from '#test/openstack/stage.ts';
import { eventually } from '#test/support/suites/rest.ts';

interface Kind {
  readonly pool: string;
  readonly product: string;
  readonly resourceClass: string;
  readonly bus: number;
  readonly count: number;
}

const fast: Kind = {
  pool: 'fast0',
  product: '2331',
  resourceClass: 'CUSTOM_FAST',
  bus: 0xa0,
  count: 8,
};
const slow: Kind = {
  pool: 'slow0',
  product: '2332',
  resourceClass: 'CUSTOM_SLOW',
  bus: 0xc0,
  count: 12,
};
const kinds = [fast, slow];

/** Entries of the allow-list of driver `pci`. */
export const alternativeCards = kinds.map(({ product, resourceClass, pool }) => ({
  vendor_id: '10de',
  product_id: product,
  resource_class: resourceClass,
  pool,
}));

const profile = 'fast-or-slow';

export const alternatives: readonly Scenario[] = [
  {
    name: 'alternatives: twenty servers at once for eight devices and twelve others',
    isLong: true,
    run: async (stage) => {
      await addCards(stage);
      await offer(stage, profile, [{ [`resources:${fast.resourceClass}`]: '1' }]);
      const operator = await operatorOf(stage);
      await operator.ask('PUT', `/device_profiles/${profile}`, {
        name: profile,
        groups: [{ [`resources:${fast.resourceClass}`]: '1' }],
        alternatives: [[{ [`resources:${slow.resourceClass}`]: '1' }]],
      });
      const ids = await Promise.all(Array.from({ length: 20 }, () => create(stage, profile)));
      const held: string[] = [];
      for (const id of ids) {
        const server = await untilBuilt(stage, id, 300);
        assert.equal(server.status, 'ACTIVE', `server ${id}: ${server.fault}`);
        const [arq] = await assertHas(stage, { ...server, id }, 1);
        held.push(String(arq?.device_rp_uuid));
      }
      const counts = kinds.map(({ pool }) => {
        const provider = ownProvider(stage, pool).split('/').at(-1);
        return held.filter((each) => each === provider).length;
      });
      assert.deepEqual(counts, [fast.count, slow.count]);
      const [first = ''] = ids;
      await removeCleanly(stage, first);
      const last = await create(stage, profile);
      const { status, fault } = await untilBuilt(stage, last, 300);
      assert.equal(status, 'ACTIVE', `the only free device was not given: ${fault}`);
      const left = [...ids.filter((each) => each !== first), last];
      for (const id of left) await remove(stage, id);
      for (const id of left) await assertNothingLeft(stage, id);
      await removeCards(stage);
      return `${ids.length} of ${ids.length} ACTIVE, ${counts.join(' and ')}`;
    },
  },
];

function addressesOf({ bus, count }: Kind): string[] {
  return Array.from({ length: count }, (_, index) => `0000:${(bus + index).toString(16)}:00.0`);
}

async function addCards(stage: Stage): Promise<void> {
  for (const kind of kinds) {
    for (const address of addressesOf(kind)) {
      stage.sysfs.addFunction({ address, product: kind.product, numaNode: 0 });
    }
  }
  for (const { pool, resourceClass, count } of kinds) {
    await eventually(
      () => stage.admin.placement.try('GET', `${ownProvider(stage, pool)}/inventories`),
      ({ status, body }) => status === 200 && body.inventories[resourceClass]?.total === count,
      // Two providers of one host are made at once, and one that loses is compared again later.
      180,
    );
  }
}

async function removeCards(stage: Stage): Promise<void> {
  for (const address of kinds.flatMap(addressesOf)) stage.sysfs.removeFunction(address);
  await eventually(
    () => providersOf(stage),
    (providers) => kinds.every(({ pool }) => providers.every(({ name }) => !name.endsWith(pool))),
  );
}
