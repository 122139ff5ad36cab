// A recorded board of eight GPUs, two pairs of which share an IOMMU group, as one pool: servers
// get units that belong together, a pair goes to one server, and Placement knows what fits.

import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { ownDrivers } from '#agent/drivers/index.ts';
import { parseHost } from '#agent/record/host-record.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { type InstanceUuid, providerUuid } from '#core/domain/ids.ts';
import { isSizeTrait } from '#core/domain/pool/pool-sizes.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import { buildHost } from '#test/hosts/build-host.ts';
import { nextInstance } from '#test/support/builders.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const record = new URL('../hosts/records/hgx-h100-shared-groups.txt', import.meta.url);
const provider = providerUuid('cmp1_hgx0');
const world = perFile(() => startWorld({ consumers: true }));

/** As driver pci reports it. */
async function readBoard(): Promise<ReportedDevice> {
  const host = buildHost(parseHost(readFileSync(record, 'utf8')));
  try {
    const pci = ownDrivers.find(({ name }) => name === 'pci');
    const gpus = { vendor_id: '10de', product_id: '2330', resource_class: 'PGPU', pool: 'hgx0' };
    const entry = { ...gpus, fabric_ready: true };
    const configured = pci?.configure({ allow_list: [entry] });
    if (!configured || 'faults' in configured) throw new Error(JSON.stringify(configured));
    const { devices } = await configured.create(await host.context()).discover();
    return devices.hgx0 as ReportedDevice;
  } finally {
    host.remove();
  }
}

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await world.report('cmp1', [await readBoard()]);
  for (const amount of [1, 2, 4, 8]) {
    const group = { 'resources:PGPU': String(amount) };
    await world.createProfile(`any-${amount}`, group);
    await world.createProfile(`same-${amount}`, { ...group, 'accel:same': 'board' });
  }
});

async function sizesNow(): Promise<readonly string[]> {
  const held = await world.deps.clients.placement.getTraits(provider);
  return (held?.traits ?? []).filter(isSizeTrait);
}

/** The functions that the server got, or why it got none. */
async function boot(profile: string, instance: InstanceUuid): Promise<readonly string[] | string> {
  const arqs = await world.createArqs(profile);
  const { status, text } = await world.bindArqs(arqs, { provider, instance });
  if (status !== 202) return text;
  const { json } = await world.arqsOf(instance);
  return json.arqs.map(({ attach_handle_info: info }) => pciFunction({ info }) ?? '').toSorted();
}

const pairs = [
  ['0000:11:00.0', '0000:12:00.0'],
  ['0000:86:00.0', '0000:87:00.0'],
];

describe('a board as a pool', () => {
  it.each<[string, number[], string]>([
    ['8', [8], ''],
    ['4 and 4', [4, 4], ''],
    ['2, 2 and 4', [2, 2, 4], ''],
    ['2, 2 and four times 1', [2, 2, 1, 1, 1, 1], ''],
    ['4 times 1, and no fifth', [1, 1, 1, 1, 1], 'fewer than 1 free'],
  ])('serves servers with %s', async (_case, amounts, refusal) => {
    await eventually(sizesNow).toContain('CUSTOM_ACCEL_SAME_BOARD_8');
    const instances: InstanceUuid[] = [];
    const held: string[] = [];
    for (const [index, amount] of amounts.entries()) {
      const instance = nextInstance();
      const got = await boot(`any-${amount}`, instance);
      if (refusal && index === amounts.length - 1) {
        expect(got).toContain(refusal);
        continue;
      }
      instances.push(instance);
      expect(got).toHaveLength(amount);
      held.push(...got);
      for (const pair of pairs) {
        expect([0, 2]).toContain(pair.filter((each) => got.includes(each)).length);
      }
    }
    expect(new Set(held).size).toBe(held.length);
    for (const instance of instances) await world.deleteArqsOf(instance);
  });

  it('tells Placement which amounts fit, and asks for them in the profile', async () => {
    const { json } = await world.ask('GET', '/v2/device_profiles?name=same-4');
    expect(json.device_profiles[0]?.groups).toEqual([
      {
        'resources:PGPU': '4',
        'accel:same': 'board',
        'trait:CUSTOM_ACCEL_SAME_BOARD_4': 'required',
      },
    ]);
    const [first, second] = [nextInstance(), nextInstance()];
    await boot('any-4', first);
    await boot('any-2', second);
    await eventually(sizesNow).not.toContain('CUSTOM_ACCEL_SAME_BOARD_4');
    expect(await sizesNow()).toContain('CUSTOM_ACCEL_SAME_BOARD_2');
    expect(await boot('same-4', nextInstance())).toContain(
      'has fewer than 4 free attach handles, all of one board',
    );
    await world.deleteArqsOf(first);
    await eventually(sizesNow).toContain('CUSTOM_ACCEL_SAME_BOARD_4');
    await world.deleteArqsOf(second);
  });

  it('waits for the servers that had a card before it joined the pool', async () => {
    await world.startComputeNode('cmp2');
    const pool = await readBoard();
    const [handle] = pool.offers?.attach_handles ?? [];
    if (!pool.offers || !handle) throw new Error('The board is empty.');
    const { locality: _, ...single } = handle;
    const address = '0000:11:00.0';
    const card = { ...pool, address, offers: { ...pool.offers, attach_handles: [single] } };
    const of = (name: string) => ({ provider: providerUuid(`cmp2_${name}`), host: 'cmp2' });
    const bind = async (amount: number, name: string, instance: InstanceUuid) =>
      world.bindArqs(await world.createArqs(`any-${amount}`), { ...of(name), instance });
    const stored = async () => (await world.deps.store.inventory.host('cmp2')).devices;
    const healthOf = async () => (await stored()).find((each) => each.address === 'hgx0')?.health;

    await world.report('cmp2', [card]);
    const instance = nextInstance();
    expect((await bind(1, address, instance)).status).toBe(202);
    await world.report('cmp2', [pool]);
    expect(await healthOf()).toMatchObject({
      state: 'unhealthy',
      reason: `has ${address}, which is still to be released as part of the device at ${address}`,
    });
    expect((await bind(2, 'hgx0', nextInstance())).text).toContain('is still to be released');
    await world.deleteArqsOf(instance);
    await eventually(async () => (await stored()).length).toBe(1);
    await world.report('cmp2', [pool]);
    const next = nextInstance();
    expect((await bind(8, 'hgx0', next)).status).toBe(202);
    await world.deleteArqsOf(next);
  });

  it('gives no unit twice and no half of a pair, with 60 servers at once', async () => {
    const amounts = Array.from({ length: 60 }, (_, index) => [1, 2, 4, 1, 2, 8][index % 6]);
    let served = 0;
    const waiting = amounts.values();
    const startServers = async () => {
      for (const amount of waiting) {
        const instance = nextInstance();
        const got = await boot(`any-${amount}`, instance);
        if (typeof got === 'string') continue;
        served += 1;
        for (const pair of pairs) {
          expect([0, 2]).toContain(pair.filter((each) => got.includes(each)).length);
        }
        const { handles = [] } = (await world.deps.store.inventory.provider(provider)) ?? {};
        const mine = handles.filter(({ claim }) => claim?.instanceUuid === instance);
        expect(mine).toHaveLength(amount as number);
        await world.deleteArqsOf(instance);
      }
    };
    await Promise.all([1, 2, 3, 4, 5, 6].map(startServers));
    expect(served).toBeGreaterThan(6);
    const { handles = [] } = (await world.deps.store.inventory.provider(provider)) ?? {};
    expect(handles.filter(({ claim }) => claim)).toEqual([]);
  });
});
