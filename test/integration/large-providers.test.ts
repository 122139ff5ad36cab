// Binds to providers with thousands of attach handles: what they read, and what they find.
//
// @module-tag long

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createConsumerStore } from '#core/consumer-deps.ts';
import type { AttachHandle, Deployable } from '#core/domain/device/device.ts';
import { BindTargetMismatch, NoFreeHandle } from '#core/domain/errors.ts';
import {
  type ArqUuid,
  derivedUuid,
  type HandleUuid,
  type InstanceUuid,
  providerUuid,
  type ReleaseId,
} from '#core/domain/ids.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { createDeviceProfiles } from '#core/operations/profiles/create-device-profiles.ts';
import { deleteArqsOfInstance } from '#core/operations/release/delete-arqs.ts';
import { handleRow } from '#core/store/rows/handle-rows.ts';
import { deployableRow } from '#core/store/rows/inventory-rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { countCapacity, counts } from '#test/support/aws/aws-counter.ts';
import { putInventory } from '#test/support/aws/put-inventory.ts';
import { aCaller, aDeployable } from '#test/support/builders.ts';
import { aHandle } from '#test/support/reports.ts';
import { stage, startWorld, type World } from '#test/support/world.ts';

const nova = aCaller();
/** Read units for a server with one accelerator: create, bind and delete. */
const readUnitsMax = 12;
const poolReadUnitsMax = 15;

let world: World;
let deps: World['deps'];
let clients: ReturnType<typeof createDocuments>;
beforeAll(async () => {
  world = await startWorld();
  clients = createDocuments();
  countCapacity(clients.strong);
  deps = { ...world.deps, ...createConsumerStore(clients, stage) };
  await createDeviceProfiles(
    deps,
    [
      { name: 'one', groups: [{ 'resources:FPGA': '1' }] },
      { name: 'two', groups: [{ 'resources:FPGA': '2' }] },
    ],
    '2.0',
  );
});
afterAll(async () => {
  clients.close();
  await world.stop();
});

const claimed = { arq_uuid: derivedUuid('arq', 'x'), instance_uuid: derivedUuid('instance', 'x') };

interface Provider extends Partial<Deployable> {
  readonly name: string;
  readonly handles: number;
  /** What is special of the handle with this index, in the order of the partition. */
  readonly handle?: (index: number) => Partial<AttachHandle> & Partial<typeof claimed>;
}

async function storeProvider({ name, handles, handle = () => ({}), ...given }: Provider) {
  const uuid = providerUuid(name);
  const uuids = Array.from({ length: handles }, (_, at) => derivedUuid('handle', name, `${at}`));
  const rows = uuids.sort().map((each, index) => {
    const { arq_uuid, instance_uuid, ...own } = handle(index);
    const row = handleRow({
      uuid: each as HandleUuid,
      providerUuid: uuid,
      epoch: Date.now(),
      isGone: false,
      ...aHandle(index),
      ...own,
    });
    return { ...row, ...(arq_uuid && { arq_uuid, instance_uuid }) };
  });
  const deployable = aDeployable({ name, providerUuid: uuid, ...given });
  await putInventory(clients.documents, [deployableRow(deployable), ...rows]);
  return { uuid, handleUuids: uuids };
}

let instances = 0;
/** @returns the instance, and the handles that it has */
async function bind(
  provider: ReturnType<typeof providerUuid>,
  { profile = 'one', from = 0.5, attachTypes = deps.settings.attachTypes } = {},
) {
  instances += 1;
  const instanceUuid = derivedUuid('instance', `${instances}`) as InstanceUuid;
  const own = { ...deps, random: () => from, settings: { ...deps.settings, attachTypes } };
  const arqs = await createArqs(own, nova, profile);
  const target = { hostname: 'cmp1', providerUuid: provider, instanceUuid };
  const targets = arqs.map(({ uuid }) => ({ ...target, arqUuid: uuid }));
  await bindArqs(own, nova, targets);
  const bound = await deps.store.arqs.byUuids(targets.map(({ arqUuid }) => arqUuid as ArqUuid));
  const held = [...bound.values()].map(({ binding }) => binding?.attachment?.handleUuid);
  return { instanceUuid, held };
}

const free = (instance: string) => deleteArqsOfInstance(deps, nova, instance);

/** Read units of a server that is created, bound and deleted. */
async function unitsOfServer(provider: ReturnType<typeof providerUuid>, from: number) {
  counts.reads = 0;
  const { instanceUuid } = await bind(provider, { from });
  await free(instanceUuid);
  return counts.reads;
}

describe('a bind to a provider with 4,096 handles', () => {
  it('reads hardly more than a bind to one with 16', async () => {
    const few = await storeProvider({ name: 'cmp1_Few', handles: 16 });
    const many = await storeProvider({ name: 'cmp1_Many', handles: 4096 });
    const base = await unitsOfServer(few.uuid, 0.5);
    expect(base).toBeGreaterThan(0);
    for (const from of [0, 0.3, 0.6, 0.99]) {
      const units = await unitsOfServer(many.uuid, from);
      expect(units).toBeLessThanOrEqual(readUnitsMax);
      expect(units - base).toBeLessThanOrEqual(2);
    }
  });

  it('finds the last free handle, wherever it starts', async () => {
    const { uuid, handleUuids } = await storeProvider({
      name: 'cmp1_Full',
      handles: 4096,
      handle: (index) => (index === 1500 ? {} : claimed),
    });
    for (const from of [0, 0.36, 0.37, 0.999]) {
      counts.reads = 0;
      const { instanceUuid, held } = await bind(uuid, { from });
      expect(held).toEqual([handleUuids[1500]]);
      // Each handle is read once at most.
      expect(counts.reads).toBeLessThan(350);
      await free(instanceUuid);
    }
    await bind(uuid);
    await expect(bind(uuid)).rejects.toThrow(NoFreeHandle);
  });

  it('takes as many handles as the instance has ARQs for the provider', async () => {
    const { uuid, handleUuids } = await storeProvider({
      name: 'cmp1_Two',
      handles: 600,
      handle: (index) => (index === 3 || index === 590 ? {} : claimed),
    });
    const { held } = await bind(uuid, { profile: 'two' });
    expect(held.sort()).toEqual([handleUuids[3], handleUuids[590]]);
  });

  it('takes a free handle although it meets releasing ones first', async () => {
    const { uuid, handleUuids } = await storeProvider({
      name: 'cmp1_Releasing',
      handles: 600,
      handle: (index) => (index === 7 ? {} : { release: derivedUuid('release', '1') as ReleaseId }),
    });
    expect((await bind(uuid)).held).toEqual([handleUuids[7]]);
  });

  it('reads all of a pool of 64 for one that takes units together', async () => {
    const pool = await storeProvider({
      name: 'cmp1_Pool',
      handles: 64,
      handle: (index) => ({ locality: { numa: index % 2, root: `0000:0${index % 4}:00.0` } }),
    });
    expect(await unitsOfServer(pool.uuid, 0.5)).toBeLessThanOrEqual(poolReadUnitsMax);
  });
});

describe('a bind is refused, wherever it starts,', () => {
  const starts = [0, 0.5, 0.999];

  it('if any handle of the provider has another type than the hypervisors take', async () => {
    const { uuid } = await storeProvider({
      name: 'cmp1_Mixed',
      handles: 200,
      attachTypes: ['TEST_PCI', 'MDEV'],
      handle: (index) => (index === 100 ? { type: 'MDEV' } : {}),
    });
    for (const from of starts) {
      const refused = bind(uuid, { from, attachTypes: ['TEST_PCI'] });
      await expect(refused).rejects.toThrow(BindTargetMismatch);
    }
  });

  it('if any handle of a reconfigurable region is in quarantine', async () => {
    const { uuid } = await storeProvider({
      name: 'cmp1_Region',
      handles: 200,
      region: 'r',
      regionKind: 'reconfigurable-region',
      handle: (index) => (index === 100 ? { quarantine: 'not cleaned' } : {}),
    });
    for (const from of starts) await expect(bind(uuid, { from })).rejects.toThrow(NoFreeHandle);
  });
});
