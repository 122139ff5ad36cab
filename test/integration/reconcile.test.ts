// Placement and our rows, after an operator has changed them by hand.

import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { GenerationConflict, type Placement } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { compareHost } from '#core/operations/placement/compare-host.ts';
import { reconcile, syncHost } from '#core/operations/placement/reconcile.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { countingMetrics, withClients } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { allocate } from '#test/support/stored/allocations.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const provider = providerUuid(`${host}_FakeDevice`);
const minuteMs = 60_000;

const world = perFile(startWorld);
let deps: ConsumerDeps;
let placement: Placement;

beforeAll(async () => {
  deps = world.deps;
  placement = deps.clients.placement;
  await placement.createProvider({ uuid: '00000000-0000-4000-8000-00000000c0de', name: host });
  await world.report(host, [aDevice({ handles: 3 })]);
  await syncProviders(deps, provider, 1);
});

const differing = async () => (await compareHost(deps, host)).filter((row) => !row.agrees);

/** Runs what a message of the queue asks for, and returns the messages that it sends. */
async function comparing(given: Partial<ConsumerDeps> = {}): Promise<unknown[]> {
  const sent: unknown[] = [];
  const queues: ConsumerDeps['queues'] = {
    send: async (_queue, messages) => void sent.push(...messages),
  };
  await syncHost({ ...deps, queues, ...given }, host);
  return sent;
}

describe('the comparison of a host', () => {
  it('is asked for in one of the minutes of an hour', async () => {
    const hosts = await allHosts(deps);
    const asked: unknown[] = [];
    const queues: ConsumerDeps['queues'] = {
      send: async (_queue, messages) => void asked.push(...messages),
    };
    for (let minute = 0; minute < 60; minute += 1) {
      await reconcile({ ...deps, clock: () => minute * minuteMs, queues }, hosts);
    }
    expect(asked).toEqual([{ hostname: host, is_comparison: true }]);
  });

  it('repairs each of its devices', async () => {
    await placement.deleteProvider(provider);
    expect(await comparing()).toEqual([]);
    expect(await differing()).toEqual([]);
    const { generation } = (await placement.getInventories(provider)) ?? { generation: 0 };
    await placement.putInventories(provider, generation, { FPGA: { total: 99 } });
    expect(await differing()).toHaveLength(1);
    expect(await comparing()).toEqual([]);
    expect(await differing()).toEqual([]);
  });

  it('leaves devices for which it has no time to messages of their own', async () => {
    let now = 0;
    const late = { clock: () => (now += minuteMs) };
    expect(await comparing(late)).toEqual([{ provider_uuid: provider }]);
  });

  it('does not fail with a device', async () => {
    const putTraits = () => Promise.reject(new Error('No such trait(s): OWNER_CYBORG.'));
    const { generation } = (await placement.getTraits(provider)) ?? { generation: 0 };
    await placement.putTraits(provider, generation, []);
    const { clients } = withClients(deps, { placement: { putTraits } });
    expect(await comparing({ clients })).toEqual([{ provider_uuid: provider }]);
    expect(await comparing()).toEqual([]);
    expect(await differing()).toEqual([]);
  });
});

describe('Placement', () => {
  it('is repaired after any change', async () => {
    expect(await differing()).toEqual([]);
    const { generation } = (await placement.getInventories(provider)) ?? { generation: 0 };
    const next = await placement.putInventories(provider, generation, { FPGA: { total: 99 } });
    await placement.putTraits(provider, next, []);
    const [row] = await differing();
    expect(row).toMatchObject({ stored: '3 FPGA', agrees: false });
    expect(row?.placement).toContain('99 FPGA');
    expect(row?.placement).toContain('-OWNER_CYBORG');
    await syncProviders(deps, provider, 1);
    expect(await differing()).toEqual([]);
  });

  it.each([{ min_unit: 2 }, { step_size: 2 }, { max_unit: 1 }, { allocation_ratio: 2 }])(
    'offers units of one again after %j',
    async (changed) => {
      const { generation, inventories } = (await placement.getInventories(provider)) ?? {
        generation: 0,
        inventories: {},
      };
      const FPGA = { total: 3, ...inventories.FPGA, ...changed };
      await placement.putInventories(provider, generation, { FPGA });
      expect(await differing()).toHaveLength(1);
      await syncProviders(deps, provider, 1);
      expect(await differing()).toEqual([]);
      expect((await placement.getInventories(provider))?.inventories).toEqual(inventories);
    },
  );

  it('differs while an instance is bound without an allocation', async () => {
    const instance = 'aaaaaaaa-0000-4000-8000-00000000beef';
    await world.createProfile('one', { 'resources:FPGA': '1' });
    await world.createBound('one', { host, provider, instance });
    const [row] = await differing();
    expect(row?.placement).toContain(`bound without allocation: ${instance}`);
    await world.deleteArqsOf(instance);
    expect(await differing()).toEqual([]);
  });

  it('gets deleted providers back', async () => {
    await placement.deleteProvider(provider);
    expect((await differing())[0]).toMatchObject({ placement: 'nothing' });
    await syncProviders(deps, provider, 1);
    expect(await differing()).toEqual([]);
  });

  it('gets no inventory of a provider whose traits it refuses', async () => {
    await placement.deleteProvider(provider);
    const putTraits = () => Promise.reject(new Error('No such trait(s): OWNER_CYBORG.'));
    const refusing = withClients(deps, { placement: { putTraits } });
    await expect(syncProviders(refusing, provider, 1)).rejects.toThrow('No such trait');
    expect((await placement.getInventories(provider))?.inventories).toEqual({});
    await syncProviders(deps, provider, 1);
    expect(await differing()).toEqual([]);
  });

  it('is written at the next attempt when others write at the same moment', async () => {
    await placement.deleteProvider(provider);
    let writes = 0;
    const putInventories = () => {
      writes += 1;
      const request = { service: 'placement', method: 'PUT', url: 'http://p.test' } as const;
      throw new GenerationConflict(request, { status: 409, headers: new Headers(), body: '' });
    };
    const stormy = withClients(deps, { placement: { putInventories } });
    await expect(syncProviders(stormy, provider, 1)).rejects.toThrow(RetryLater);
    expect(writes).toBe(5);
    await syncProviders(deps, provider, 1);
  });

  it('has all of a device reserved when Nova reports it as well', async () => {
    const uuid = '00000000-0000-4000-8000-00000000aaaa';
    const parentUuid = '00000000-0000-4000-8000-00000000c0de';
    const { devices } = await deps.store.inventory.host(host);
    const name = `${host}_pci_${devices[0]?.address.replaceAll(/[:.]/g, '_')}`;
    const { generation } = await placement.createProvider({ uuid, name, parentUuid });
    await placement.putTraits(uuid, generation, ['OWNER_NOVA']);
    const { metrics, counted } = countingMetrics();
    await syncProviders({ ...deps, metrics }, provider, 1);
    expect(counted).toEqual([{ name: 'DevicesOfferedTwice', value: 1 }]);
    const held = await placement.getInventories(provider);
    expect(held?.inventories.FPGA).toMatchObject({ total: 3, reserved: 3 });
    expect((await differing())[0]?.placement).toContain(name);
    await placement.deleteProvider(uuid);
    await syncProviders(deps, provider, 1);
    expect(await differing()).toEqual([]);
  });
});

describe('an allocation of a class that the device no longer has', () => {
  const consumer = '00000000-0000-4000-8000-00000000beef';
  const region = providerUuid(`${host}_FakeDevice_r0`);
  const report = (resourceClass: string, bus: string) => {
    const regions = [
      {
        name: 'r0',
        resource_class: 'FPGA',
        kind: 'partition' as const,
        traits: [],
        attach_handles: [{ type: 'TEST_PCI' as const, info: { bus } }],
      },
    ];
    const device = aDevice({ handles: 3 });
    const offers = device.offers && { ...device.offers, resource_class: resourceClass };
    const changed = aDevice({ handles: 3, ...(offers && { offers }), regions });
    return world.report(host, [changed]);
  };

  it('keeps the class in Placement without spare units until its holder is gone', async () => {
    expect(await allocate(world, consumer, provider)).toBe(204);
    await report('CUSTOM_OTHER', '20');
    await expect(syncProviders(deps, provider, 1)).rejects.toThrow(RetryLater);
    const kept = (await placement.getInventories(provider))?.inventories;
    expect(kept).toEqual({ FPGA: expect.objectContaining({ total: 3, reserved: 3 }) });
    // The rest of the device is updated all the same.
    expect((await placement.getInventories(region))?.inventories.FPGA?.total).toBe(1);
    expect(await allocate(world, consumer, undefined)).toBe(204);
    await syncProviders(deps, provider, 2);
    const { inventories } = (await placement.getInventories(provider)) ?? {};
    expect(inventories).toMatchObject({ CUSTOM_OTHER: { total: 3, reserved: 0 } });
    expect(await differing()).toEqual([]);
  });

  it('does not block the comparison while a server has it', async () => {
    await report('FPGA', '21');
    await syncProviders(deps, provider, 1);
    await world.createProfile('fpga', { 'resources:FPGA': '1' });
    await world.createBound('fpga', { host, provider, instance: consumer });
    expect(await allocate(world, consumer, provider)).toBe(204);
    await report('CUSTOM_OTHER', '22');
    await syncProviders(deps, provider, 1);
    const kept = (await placement.getInventories(provider))?.inventories;
    expect(kept).toEqual({ FPGA: expect.objectContaining({ total: 3, reserved: 3 }) });
    await world.deleteArqsOf(consumer);
    expect(await allocate(world, consumer, undefined)).toBe(204);
    await world.report(host, [aDevice({ handles: 3 })]);
    await syncProviders(deps, provider, 1);
    const { inventories } = (await placement.getInventories(provider)) ?? {};
    expect(inventories).toEqual({ FPGA: expect.objectContaining({ total: 3, reserved: 0 }) });
  });
});

describe('our own rows', () => {
  it("return with the host's next report when they are missing", async () => {
    const stored = await deps.store.inventory.provider(provider);
    const { documents } = createDocuments();
    const Key = { pk: `RP#${provider}`, sk: `HANDLE#${stored?.handles[0]?.uuid}` };
    await documents.send(new DeleteCommand({ TableName: `${stage}-inventory`, Key }));
    expect((await differing())[0]?.host).toContain('rows are missing');
    await syncProviders(deps, provider, 1);
    await world.report(host, [aDevice({ handles: 3 })]);
    expect((await deps.store.inventory.provider(provider))?.handles).toHaveLength(3);
    expect(await differing()).toEqual([]);
  });
});

it('a provider of a device that is gone is deleted at once where Placement moves none', async () => {
  const moveProvider = async () => 'too-old' as const;
  const old = withClients(deps, { placement: { moveProvider } });
  await world.report(host, []);
  await syncProviders(old, provider, 1);
  expect(await placement.getProvider(provider)).toBeUndefined();
});
