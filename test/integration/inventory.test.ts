// From a host's report to Placement, through streams and queues.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { stackTrait } from '#core/domain/placement/stack-mark.ts';
import { planDevice } from '#core/domain/report/device-plan.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { handleRow } from '#core/store/rows/handle-rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { aCaller } from '#test/support/builders.ts';
import { aDevice, aHandle, discovered } from '#test/support/reports.ts';
import { hasLeft } from '#test/support/stored/allocations.ts';
import { everythingStored } from '#test/support/stored/tables.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const world = perFile(() => startWorld({ consumers: true }));

async function inventoryOf(name: string) {
  return (await world.deps.clients.placement.getInventories(providerUuid(name)))?.inventories;
}

const createdAt = '2026-07-01T00:00:00.000Z';
const region = {
  name: 'region0',
  kind: 'reconfigurable-region' as const,
  'region-type-uuid': '9926ab6d-6c92-5a68-aabc-a7d84c545738',
  resource_class: 'FPGA',
  traits: [],
  attach_handles: [aHandle(1, 'PCI')],
};

describe('a device that a host reports', () => {
  it('becomes a provider below the compute node, with all its traits', async () => {
    await world.startComputeNode('cmp1');
    await world.report('cmp1', [aDevice({ handles: 16 })]);
    await eventually(() => inventoryOf('cmp1_FakeDevice')).toMatchObject({
      FPGA: { total: 16, reserved: 0, max_unit: 16 },
    });
    const uuid = providerUuid('cmp1_FakeDevice');
    const compute = await world.deps.clients.placement.findProviderByName('cmp1');
    expect(await world.deps.clients.placement.getProvider(uuid)).toMatchObject({
      parentUuid: compute?.uuid,
    });
    await eventually(async () =>
      (await world.deps.clients.placement.getTraits(uuid))?.traits.sort(),
    ).toEqual([stackTrait(stage), 'CUSTOM_FAKE_DEVICE', 'CUSTOM_FPGA_ABCD_ABCD', 'OWNER_CYBORG']);
  });

  it('is stored with the others of a first report, although one of its handles is there', async () => {
    const devices = Array.from({ length: 40 }, (_, at) =>
      aDevice({ address: `0000:${at + 10}:00.0`, provider_suffix: `Many${at}`, handles: 1 }),
    );
    const [known] = devices.slice(35).flatMap((device) => {
      return planDevice('cmp9', undefined, discovered(device), createdAt).addHandles;
    });
    if (!known) throw new Error('The device has a handle.');
    const { documents } = createDocuments();
    const Item = handleRow({ ...known, epoch: 7 });
    await documents.send(new PutCommand({ TableName: tableName(stage, 'inventory'), Item }));
    await world.report('cmp9', devices);
    const { store } = world.deps;
    const providers = await store.inventory.providers(
      devices.map((_, at) => providerUuid(`cmp9_Many${at}`)),
    );
    expect((await store.inventory.host('cmp9')).devices).toHaveLength(40);
    expect(providers.filter(({ handles }) => handles.length === 1)).toHaveLength(40);
    expect((await store.inventory.provider(known.providerUuid))?.handles[0]?.epoch).toBe(7);
  });

  it('is written once, however often it is reported', async () => {
    const device = aDevice({ handles: 16 });
    const rows = async () => (await everythingStored()).filter(({ sk }) => sk !== 'HOST');
    const before = await rows();
    await world.report('cmp1', [device]);
    await world.report('cmp1', [device], { devices: [] });
    expect(await rows()).toEqual(before);
  });

  it('puts the inventory of a region on a provider of its own', async () => {
    await world.startComputeNode('cmp2');
    const { offers: _, ...board } = aDevice({ regions: [region] });
    await world.report('cmp2', [board]);
    await eventually(() => inventoryOf('cmp2_FakeDevice_region0')).toMatchObject({
      FPGA: { total: 1 },
    });
    expect(await inventoryOf('cmp2_FakeDevice')).toEqual({});
    const { placement } = world.deps.clients;
    expect(await placement.getProvider(providerUuid('cmp2_FakeDevice_region0'))).toMatchObject({
      parentUuid: providerUuid('cmp2_FakeDevice'),
    });
  });

  it('waits for the compute node when the agent starts first', async () => {
    await world.report('cmp3', [aDevice()]);
    await eventually(async () =>
      (await everythingStored()).some(({ pk }) => pk === 'HOST#cmp3'),
    ).toBe(true);
    expect(await inventoryOf('cmp3_FakeDevice')).toBeUndefined();
    await world.startComputeNode('cmp3');
    await eventually(() => inventoryOf('cmp3_FakeDevice')).toMatchObject({ FPGA: { total: 2 } });
  });
});

describe('a device that disappears', () => {
  const gone = (name: string) => hasLeft(world, providerUuid(name));
  const rowsOf = async (name: string, host: string) =>
    (await everythingStored()).filter(
      ({ pk, sk }) =>
        pk === `RP#${providerUuid(name)}` ||
        (pk === `HOST#${host}` && String(sk).startsWith('DEVICE#')),
    );

  it('is deleted from our tables at once, and from Placement once Nova has read its tree', async () => {
    const { placement } = world.deps.clients;
    const provider = providerUuid('cmp4_FakeDevice');
    await world.startComputeNode('cmp4');
    await world.report('cmp4', [aDevice()]);
    await eventually(() => inventoryOf('cmp4_FakeDevice')).toBeDefined();
    await world.report('cmp4', []);
    await eventually(() => rowsOf('cmp4_FakeDevice', 'cmp4')).toEqual([]);
    expect(await gone('cmp4_FakeDevice')).toBe(true);
    expect(await placement.getProvider(provider)).toMatchObject({
      name: expect.stringMatching(/^cmp4_FakeDevice \(left its tree at 20.*Z\)$/),
    });
    const syncAfter = (minutes: number) => {
      const clock = () => world.deps.clock() + minutes * 60_000;
      return syncProviders({ ...world.deps, clock }, provider, 1);
    };
    await syncAfter(9);
    expect(await placement.getProvider(provider)).toBeDefined();
    await syncAfter(11);
    expect(await placement.getProvider(provider)).toBeUndefined();
  });

  it('is below its compute node again when it is back before that', async () => {
    const { placement } = world.deps.clients;
    const provider = providerUuid('cmp6_FakeDevice');
    await world.startComputeNode('cmp6');
    const node = (await placement.findProviderByName('cmp6'))?.uuid;
    const offered = { FPGA: { total: 2 } };
    await world.report('cmp6', [aDevice()]);
    await eventually(() => inventoryOf('cmp6_FakeDevice')).toMatchObject(offered);
    await world.report('cmp6', []);
    await eventually(() => gone('cmp6_FakeDevice')).toBe(true);
    await world.report('cmp6', [aDevice()]);
    await eventually(() => inventoryOf('cmp6_FakeDevice')).toMatchObject(offered);
    const isBack = { name: 'cmp6_FakeDevice', parentUuid: node };
    expect(await placement.getProvider(provider)).toMatchObject(isBack);
    const clock = () => world.deps.clock() + 11 * 60_000;
    await syncProviders({ ...world.deps, clock }, provider, 1);
    expect(await placement.getProvider(provider)).toMatchObject(isBack);
  });

  it('stays while a server has it, and is not offered again', async () => {
    await world.startComputeNode('cmp5');
    await world.report('cmp5', [aDevice()]);
    await eventually(() => inventoryOf('cmp5_FakeDevice')).toBeDefined();
    await world.createProfile('fpga', { 'resources:FPGA': '1' });
    const instance = 'aaaaaaaa-0000-4000-8000-000000000005';
    const provider = providerUuid('cmp5_FakeDevice');
    await world.createBound('fpga', { host: 'cmp5', provider, instance });
    await world.report('cmp5', []);
    await eventually(() => inventoryOf('cmp5_FakeDevice')).toMatchObject({
      FPGA: { total: 2, reserved: 2 },
    });
    expect((await world.arqsOf(instance)).json.arqs).toMatchObject([{ state: 'Bound' }]);

    await world.deleteArqsOf(instance);
    await eventually(() => gone('cmp5_FakeDevice')).toBe(true);
    await eventually(() => rowsOf('cmp5_FakeDevice', 'cmp5')).toEqual([]);
  });
});

describe('deadlines', () => {
  it('an unbound ARQ is deleted at its deadline', async () => {
    const late = { ...world.deps, clock: () => Date.now() - 20 * 60_000 };

    const caller = aCaller();
    const [arq] = await createArqs(late, caller, 'fpga');
    const [kept] = await createArqs(world.deps, caller, 'fpga');
    await world.consumers?.sweep();
    const left = await world.deps.store.arqs.byUuids(
      [arq, kept].flatMap((each) => each?.uuid ?? []),
    );
    expect([...left.keys()]).toEqual([kept?.uuid]);
  });
});
