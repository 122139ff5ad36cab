// The capacity of a large cloud, as the sweep has measured it, is what a count of all hosts gives.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinRanges } from '#core/domain/capacity/measured-hosts.ts';
import type { Device } from '#core/domain/device/device.ts';
import { type ProviderUuid, providerUuid } from '#core/domain/ids.ts';
import { measureFleet } from '#core/operations/fleet/measure-fleet.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { measuredHostsKey } from '#core/store/rows/rows.ts';
import { tableName } from '#core/store/table/tables.ts';
import { hostsInBudget } from '#functions/operator/use/get-capacity.ts';
import { withStore } from '#test/support/deps.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }));
const nameOf = (index: number) => `cmp${String(index).padStart(2, '0')}`;
const hostCount = 23;
const instance = 'bbbbbbbb-0000-4000-8000-000000000001';
let documents: DynamoDBDocumentClient;

beforeAll(async () => {
  documents = DynamoDBDocumentClient.from(new DynamoDBClient());
  for (const [name, amount] of Object.entries({ one: '1', two: '2' })) {
    await world.createProfile(name, { 'resources:FPGA': amount });
  }
});
afterAll(() => documents.destroy());

async function addHost(index: number, atMs = Date.now()): Promise<void> {
  const report = aReport([aDevice({ handles: 1 + (index % 4) })]);
  await applySettled(world.deps, nameOf(index), report, atMs);
}

/** Runs of the sweep until it has measured all hosts. */
async function measureAll(): Promise<void> {
  for (let run = 0; run < 2; run += 1) await measureFleet(world.deps, await allHosts(world.deps));
}

interface Capacity {
  readonly measured_at: string | null;
  readonly total: unknown;
  readonly fits: number;
  readonly hosts: readonly { readonly hostname: string; readonly fits: number }[];
  readonly hosts_links?: readonly { readonly href: string }[];
}

async function get(query: string, token = 'admin-token'): Promise<Capacity> {
  const { status, json } = await world.ask('GET', `/operator/v1/capacity?${query}`, { token });
  expect(status).toBe(200);
  return json as unknown as Capacity;
}

const isMeasured = { measured_at: expect.any(String) };
const isRead = { measured_at: null };

describe('the capacity of a cloud of more than 20 hosts', () => {
  it('is read from its hosts while they are few', async () => {
    for (let index = 0; index < 20; index += 1) await addHost(index);
    await measureAll();
    expect(await get('profile=one')).toMatchObject({ ...isRead, total: { hosts: 20 } });
  });

  it('is what a count of all hosts gives, whatever their state is', async () => {
    const hourAgo = Date.now() - 3_600_000;
    for (let index = 20; index < hostCount; index += 1) await addHost(index, hourAgo);
    const { devices } = await world.deps.store.inventory.host(nameOf(2));
    await world.ask('POST', `/v2/devices/${devices[0]?.uuid}/disable`);
    const provider = providerUuid(`${nameOf(3)}_FakeDevice`);
    await world.createBound('two', { host: nameOf(3), provider, instance });
    await measureAll();
    for (const profile of ['one', 'two']) {
      const measured = await get(`profile=${profile}`);
      const read = await get(`profile=${profile}&live=true`);
      expect(measured).toEqual({ ...read, ...isMeasured });
      expect(measured.total).toMatchObject({ fits: measured.fits });
    }
    const { hosts } = await get('profile=one');
    expect(hosts).toHaveLength(hostCount);
    expect(hosts.filter(({ fits }) => fits === 0).map(({ hostname }) => hostname)).toEqual(
      [2, 20, 21, 22].map(nameOf),
    );
  });

  it('is paged by host, with the total on the first page', async () => {
    const [{ hosts: all }, first] = [await get('profile=one'), await get('profile=one&limit=15')];
    expect(first.total).toMatchObject({ hosts: 19 });
    const next = new URL(first.hosts_links?.[0]?.href ?? '').search.slice(1);
    const second = await get(next);
    expect(second).toMatchObject({ ...isMeasured, total: null });
    expect(second.hosts_links).toBeUndefined();
    expect([...first.hosts, ...second.hosts]).toEqual(all);
  });

  it('says of when it is until the sweep corrects it, and a host is read at once', async () => {
    const { devices } = await world.deps.store.inventory.host(nameOf(2));
    await world.ask('POST', `/v2/devices/${devices[0]?.uuid}/enable`);
    const fitsOf = async (query = '') => {
      const { hosts, measured_at: at } = await get(`profile=one${query}`);
      return [hosts.find(({ hostname }) => hostname === nameOf(2))?.fits, at === null];
    };
    expect(await fitsOf()).toEqual([0, false]);
    expect(await fitsOf(`&host=${nameOf(2)}`)).toEqual([3, true]);
    const before = await get('profile=one');
    await measureAll();
    const after = await get('profile=one');
    expect(await fitsOf()).toEqual([3, false]);
    expect(String(after.measured_at) > String(before.measured_at)).toBe(true);
  });

  it('has each host once, whatever ranges the sweep had before', async () => {
    await addHost(hostCount);
    await measureAll();
    const ranges = await world.deps.store.measuredHosts.ranges();
    expect(ranges).toHaveLength(2);
    expect(joinRanges(ranges, Date.now())?.hosts.map(({ hostname }) => hostname)).toEqual(
      Array.from({ length: hostCount + 1 }, (_, index) => nameOf(index)),
    );
  });

  it('is one word for a tenant, with the time', async () => {
    const answer = await get('profile=one', 'reader-token');
    expect(answer).toEqual({ profile: 'one', availability: 'many', ...isMeasured });
  });

  it.each(['live=true', `host=${nameOf(0)}`])('is read for no tenant by %s', async (query) => {
    for (const [token, status] of [
      ['reader-token', 403],
      ['demo-token', 403],
      ['admin-token', 200],
    ] as const) {
      const path = `/operator/v1/capacity?profile=one&${query}`;
      expect([token, (await world.ask('GET', path, { token })).status]).toEqual([token, status]);
    }
  });

  it('is read from the hosts while some are not measured', async () => {
    const [range] = await world.deps.store.measuredHosts.ranges();
    const Key = measuredHostsKey(String(range?.upTo));
    await documents.send(new DeleteCommand({ TableName: tableName(stage, 'inventory'), Key }));
    expect(await get('profile=one')).toMatchObject(isRead);
  });

  it("is read within the budget of a tenant's call, and not beyond it", async () => {
    const { inventory } = world.deps.store;
    const { devices } = await inventory.host(nameOf(0));
    const [device] = devices as [Device];
    const many = {
      ...device,
      providers: Array<ProviderUuid>(2001).fill(device.providers[0] as ProviderUuid),
    };
    const host: typeof inventory.host = async (name) => ({
      ...(await inventory.host(name)),
      devices: [many],
    });
    const deps = withStore(world.deps, { inventory: { host } });
    const refused = hostsInBudget(deps).next();
    await expect(refused).rejects.toMatchObject({ status: 503 });
    expect((await hostsInBudget(world.deps).next()).value).toHaveLength(1);
  });
});
