// Providers of Nova for functions of a device that an agent offers, under each name that Nova
// gives them.

import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Placement } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { compareHost } from '#core/operations/placement/compare-host.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { countingMetrics } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const node = '00000000-0000-4000-8000-00000000c0de';
const otherNode = '00000000-0000-4000-8000-00000000c0df';
const card = '0000:3b:00.0';

const offering = (attach_handles: NonNullable<ReportedDevice['offers']>['attach_handles']) => ({
  ...{ resource_class: 'CUSTOM_VF', traits: [], attach_handles },
});

const onCard = (device: string, fn: string) => ({
  ...{ domain: '0000', bus: '3b', device, function: fn },
});

/** Two virtual functions of a card, a third one with an mdev, and a fourth one in a region. */
const withFunctions = aDevice({
  address: card,
  driver: 'pci',
  provider_suffix: undefined,
  offers: offering([
    { type: 'PCI', info: onCard('00', '4') },
    { type: 'PCI', info: onCard('0', '5') },
    { type: 'MDEV', info: { ...onCard('1f', '6'), asked_type: 'nvidia-223' } },
    { type: 'MDEV', info: { asked_type: 'nvidia-223' } },
  ]),
  regions: [
    { name: 'r0', kind: 'partition', ...offering([{ type: 'PCI', info: onCard('00', '7') }]) },
  ],
});

/** The same bus numbers, of no hardware. */
const forTests = aDevice({ handles: 4 });
const provider = providerUuid(`${host}_${card}`);
const fake = providerUuid(`${host}_FakeDevice`);

const world = perFile(startWorld);
let deps: ConsumerDeps;
let placement: Placement;
const made: string[] = [];

beforeAll(async () => {
  deps = world.deps;
  placement = deps.clients.placement;
  await placement.createProvider({ uuid: node, name: host });
  await placement.createProvider({ uuid: otherNode, name: 'cmp2' });
  await world.report(host, [withFunctions, forTests]);
  for (const each of [provider, fake]) await syncProviders(deps, each, 1);
});

afterEach(async () => {
  for (const uuid of made.splice(0)) await placement.deleteProvider(uuid);
});

async function makeNovas(name: string, parentUuid = node): Promise<string> {
  const uuid = randomUUID();
  made.push(uuid);
  const { generation } = await placement.createProvider({ uuid, name, parentUuid });
  await placement.putTraits(uuid, generation, ['OWNER_NOVA']);
  return uuid;
}

/** Units of the card that a sync reserves, and the conflicts that it counts. */
async function synced(of = provider) {
  const { metrics, counted } = countingMetrics();
  await syncProviders({ ...deps, metrics }, of, 1);
  const { inventories } = (await placement.getInventories(of)) ?? {};
  const [inventory] = Object.values(inventories ?? {});
  return { reserved: inventory?.reserved, conflicts: counted.length };
}

describe('a device is reserved as a whole while Nova tracks', () => {
  it.each([
    ['its physical function, or other virtual functions of it', `${host}_${card.toUpperCase()}`],
    ['one of its virtual functions', `${host}_0000:3B:00.4`],
    ['a function whose handle has a device number of one digit', `${host}_0000:3B:00.5`],
    ['a virtual function of one of its regions', `${host}_0000:3B:00.7`],
    ['vGPUs of the physical function', `${host}_pci_0000_3b_00_0`],
    ['vGPUs of a virtual function that has an mdev of ours', `${host}_pci_0000_3b_1f_6`],
  ])('%s', async (_, name) => {
    await makeNovas(name);
    expect(await synced()).toEqual({ reserved: 4, conflicts: 1 });
    const rows = await compareHost(deps, host);
    const differing = rows.filter(({ agrees }) => !agrees);
    expect(differing.map((row) => row.provider)).toEqual([`${host}_${card}`, `${host}_${card}_r0`]);
    for (const { placement: has } of differing) expect(has).toContain(`and ${name}`);
    for (const uuid of made.splice(0)) await placement.deleteProvider(uuid);
    expect(await synced()).toEqual({ reserved: 0, conflicts: 0 });
  });
});

describe('a device stays offered while Nova tracks', () => {
  it.each([
    ['a function of another card', `${host}_0000:3C:00.4`],
    ['a virtual function of the card that we do not offer, for vGPUs', `${host}_pci_0000_3b_00_1`],
    ['a name that only begins like an address', `${host}_${card.toUpperCase()}_port1`],
    ['the same address under the name of another host', 'cmp2_0000:3B:00.4'],
  ])('%s', async (_, name) => {
    await makeNovas(name);
    expect(await synced()).toEqual({ reserved: 0, conflicts: 0 });
  });

  it('the same address below another compute node', async () => {
    await makeNovas(`${host}_0000:3B:00.4`, otherNode);
    expect(await synced()).toEqual({ reserved: 0, conflicts: 0 });
  });

  it('an address that a handle for tests has', async () => {
    await makeNovas(`${host}_0000:0C:00.1`);
    expect(await synced(fake)).toEqual({ reserved: 0, conflicts: 0 });
  });
});

it('takes no other device of ours for a conflict', async () => {
  // A driver of the operator reports a function by itself, which the driver `pci` offers as well.
  const address = '0000:3b:00.4';
  const own = aDevice({ address, driver: 'own', provider_suffix: undefined, handles: 1 });
  await world.report(host, [withFunctions, forTests, own]);
  const another = providerUuid(`${host}_${address}`);
  expect(await synced(another)).toEqual({ reserved: 0, conflicts: 0 });
  expect(await synced()).toEqual({ reserved: 0, conflicts: 0 });
});

it('looks for conflicts in two requests, however many functions a device has', async () => {
  const info = (index: number) =>
    onCard((index >> 3).toString(16).padStart(2, '0'), `${index & 7}`);
  const attach_handles = Array.from({ length: 250 }, (_, index) => {
    return { type: 'PCI' as const, info: { ...info(index), bus: '3c' } };
  });
  const address = '0000:3c:00.0';
  const large = { ...withFunctions, address, offers: offering(attach_handles), regions: [] };
  await world.report(host, [large]);
  const its = providerUuid(`${host}_${address}`);
  await syncProviders(deps, its, 1);
  const asked: string[] = [];
  const counted = new Proxy(placement, {
    get: (target, name: keyof Placement) => {
      asked.push(name);
      return target[name];
    },
  });
  const clients = { ...deps.clients, placement: counted };
  await syncProviders({ ...deps, clients }, its, 1);
  const looks = asked.filter((name) => ['findProviderByName', 'providersInTree'].includes(name));
  expect(looks).toEqual(['findProviderByName', 'providersInTree']);
  // The provider itself, the custom class and traits, and what the provider has.
  expect(asked.length).toBeLessThan(12);
});
