// Providers of Nova for functions of a device that an agent offers, under each name that Nova
// gives them.

import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { Placement } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { compareHost } from '#core/operations/placement/compare-host.ts';
import { lookAtTrees } from '#core/operations/placement/restore-tree.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { readIncidents } from '#functions/operator/incidents/incident-reads.ts';
import { countingMetrics } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const node = '00000000-0000-4000-8000-00000000c0de';
const otherNode = '00000000-0000-4000-8000-00000000c0df';
const card = '0000:3b:00.0';

const offering = (attach_handles: NonNullable<ReportedDevice['offers']>['attach_handles']) => ({
  resource_class: 'CUSTOM_VF',
  traits: [],
  attach_handles,
});

const onCard = (device: string, fn: string) => ({
  domain: '0000',
  bus: '3b',
  device,
  function: fn,
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
    for (const { placement: has } of differing) {
      expect(has).toContain(`and Nova, by resource provider ${name}`);
    }
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

describe('while another service offers a device', () => {
  const profile = () => world.createProfile('vf', { 'resources:CUSTOM_VF': '1' });
  const incidents = async () => {
    const entries = await readIncidents['offered-twice'](deps, undefined, 100);
    return entries.flatMap(({ row }) => row ?? []);
  };
  /** The sweep two minutes later, and the messages that it sends about devices. */
  const sweep = async (): Promise<readonly object[]> => {
    const sent: object[] = [];
    const send = async (_queue: string, messages: readonly object[]) => void sent.push(...messages);
    const clock = () => Date.now() + 120_000;
    await lookAtTrees({ ...deps, clock, queues: { send } });
    return sent;
  };
  const reported = (other_owner?: ReportedDevice['other_owner']) =>
    world.report(host, [{ ...withFunctions, ...(other_owner && { other_owner }) }, forTests]);

  afterEach(async () => {
    await reported();
    for (const uuid of made.splice(0)) await placement.deleteProvider(uuid);
    await syncProviders(deps, provider, 1);
  });

  it('the sweep finds its provider, has it reserved, and says who offers it', async () => {
    expect(await sweep()).toEqual([]);
    const uuid = await makeNovas(`${host}_${card.toUpperCase()}`);
    expect(await sweep()).toEqual([{ provider_uuid: provider }]);
    await synced();
    expect(await sweep()).toEqual([]);
    const [incident, ...others] = await incidents();
    expect(others).toEqual([]);
    expect(incident).toMatchObject({
      kind: 'offered-twice',
      hostname: host,
      reason: `The device at ${card} is offered by this service, by driver pci of its agent, and by Nova, by resource provider ${host}_${card.toUpperCase()} (${uuid}).`,
    });
    const since = incident?.since;
    await synced();
    expect((await incidents())[0]?.since).toBe(since);
    await placement.deleteProvider(uuid);
    made.length = 0;
    expect(await sweep()).toEqual([{ provider_uuid: provider }]);
    expect(await synced()).toEqual({ reserved: 0, conflicts: 0 });
    expect(await incidents()).toEqual([]);
    expect(await sweep()).toEqual([]);
  });

  it('refuses a bind with the sentence, and accepts it once Nova gives the device up', async () => {
    await profile();
    const uuid = await makeNovas(`${host}_${card.toUpperCase()}`);
    await synced();
    const [arq = ''] = await world.createArqs('vf');
    const target = { provider, instance: randomUUID() };
    const refused = await world.bindArqs(arq, target);
    expect(refused.status).toBe(409);
    expect(refused.text).toMatch(
      /Device [0-9a-f-]{36} is offered by Nova, too: it accepts no bind until only one of the two offers it\./,
    );
    await placement.deleteProvider(uuid);
    made.length = 0;
    await synced();
    expect((await world.bindArqs(arq, target)).status).toBe(202);
  });

  it('that its host names, it is withheld as long, while Placement shows nothing of it', async () => {
    const by = '[pci] device_spec of /etc/nova/nova.conf, spec-1, for 0000:3b:00.0';
    await reported({ name: 'Nova', by });
    expect(await synced()).toEqual({ reserved: 4, conflicts: 1 });
    expect(await incidents()).toMatchObject([{ reason: expect.stringContaining(by) }]);
    expect((await compareHost(deps, host)).filter(({ agrees }) => !agrees)).toHaveLength(2);
    await reported();
    expect(await synced()).toEqual({ reserved: 0, conflicts: 0 });
    expect(await incidents()).toEqual([]);
  });

  it('that its host names, no bind takes it while Placement is away', async () => {
    await reported({ name: 'Nova', by: 'nova.conf' });
    const away = new Proxy(placement, {
      get: () => () => Promise.reject(new ServiceUnavailable('Placement', '', 'away', false)),
    });
    const clients = { ...deps.clients, placement: away };
    await expect(syncProviders({ ...deps, clients }, provider, 1)).rejects.toThrow(RetryLater);
    const stored = await deps.store.inventory.provider(provider);
    expect(stored?.deployable.offeredTwice).toBe('Nova');
  });

  it('a region that is added is marked, too', async () => {
    await reported({ name: 'Nova', by: 'nova.conf' });
    await synced();
    const region = { name: 'r1', kind: 'partition' as const, ...offering([]) };
    const grown = { ...withFunctions, regions: [...withFunctions.regions, region] };
    await world.report(host, [
      { ...grown, other_owner: { name: 'Nova', by: 'nova.conf' } },
      forTests,
    ]);
    await synced();
    const added = await deps.store.inventory.provider(providerUuid(`${host}_${card}_r1`));
    expect(added?.deployable.offeredTwice).toBe('Nova');
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
