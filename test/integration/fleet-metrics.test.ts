// The metrics of the fleet, from what the sweep measures to the answer.

import { beforeAll, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { measureFleet } from '#core/operations/fleet/measure-fleet.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { fleetStore } from '#core/store/fleet.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { countCapacity, counts, resetCounts } from '#test/support/aws/aws-counter.ts';
import { withStore } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const world = perFile(() =>
  startWorld({ consumers: true, settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }),
);
const instance = 'bbbbbbbb-0000-4000-8000-000000000001';
const provider = providerUuid('cmp1_FakeDevice');

const hot = aDevice({
  handles: 4,
  health: { state: 'unhealthy', reason: 'is hot', since: '2026-01-01T00:00:00Z' },
});

async function measure(deps: ConsumerDeps = world.deps): Promise<void> {
  await measureFleet(deps, await allHosts(deps));
}

function later(ms: number): ConsumerDeps {
  return { ...world.deps, clock: () => Date.now() + ms };
}

async function scrape(accept = '*/*'): Promise<Map<string, number>> {
  const { status, text } = await world.ask('GET', '/operator/v1/metrics', { headers: { accept } });
  expect(status).toBe(200);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

describe('the metrics of the fleet', () => {
  beforeAll(async () => {
    await world.report('cmp1', [aDevice({ handles: 4 })]);
    await world.createProfile('pair', { 'resources:FPGA': '2' });
  });

  it('answers 200 without a value before the first sweep', async () => {
    expect(await scrape()).toEqual(new Map());
  });

  it('has devices, handles, capacity, hosts and incidents', async () => {
    await world.createBound('pair', { provider, instance });
    await measure();
    const values = await scrape();
    const [model] = [...values.keys()].flatMap(
      (key) => /^cyborg_devices.*model="(.*?)"/.exec(key)?.[1] ?? [],
    );
    expect(Object.fromEntries(values)).toMatchObject({
      [`cyborg_devices{type="FPGA",model="${model}",state="ok"}`]: 1,
      [`cyborg_handles{resource_class="FPGA",model="${model}",state="free"}`]: 2,
      [`cyborg_handles{resource_class="FPGA",model="${model}",state="claimed"}`]: 2,
      'cyborg_capacity_servers{profile="pair"}': 1,
      'cyborg_hosts{state="online"}': 1,
      'cyborg_hosts{state="away"}': 0,
      'cyborg_incidents{kind="host-away"}': 0,
      'cyborg_incidents{kind="unhealthy-device"}': 0,
      'cyborg_incidents{kind="device-not-attached"}': 0,
      cyborg_hosts_drained: 0,
    });
    const projects = [...values].filter(([key]) => key.startsWith('cyborg_project_handles'));
    expect(projects).toEqual([[expect.stringContaining(`model="${model}"`), 2]]);
  });

  it('counts a bind once, when it can no longer fail', async () => {
    const bound = async (deps: ConsumerDeps) => {
      await measure(deps);
      return (await scrape()).get('cyborg_binds_total{outcome="bound"}');
    };
    expect(await bound(world.deps)).toBe(0);
    await eventually(() => bound(later(600_000))).toBe(1);
    expect(await bound(later(660_000))).toBe(1);
  });
});

describe('the report of the fleet', () => {
  const day = '2031-05-01';
  const at = (hour: number): ConsumerDeps => ({
    ...world.deps,
    clock: () => Date.parse(`${day}T${String(hour).padStart(2, '0')}:30:00Z`),
  });

  /** From the records of the history alone. */
  async function fromHistory() {
    const { json } = await world.ask('GET', '/operator/v1/history?host=cmp1&limit=1000');
    const count = (kind: string) => json.history.filter((record) => record.kind === kind).length;
    return {
      devices: count('device.added') - count('device.removed'),
      healthy: count('device.added') - count('device.unhealthy') + count('device.healthy'),
      handles: count('handle.added') - count('handle.removed'),
      in_use: count('handle.claimed') - count('handle.released'),
    };
  }

  it('has the means of what the history says at each measurement', async () => {
    const measurements: Awaited<ReturnType<typeof fromHistory>>[] = [];
    const take = async (inUse: number) => {
      await eventually(async () => (await fromHistory()).in_use).toBe(inUse);
      measurements.push(await fromHistory());
      await measure(at(measurements.length));
    };
    const other = 'bbbbbbbb-0000-4000-8000-000000000002';
    await take(2);
    await world.createBound('pair', { provider, instance: other });
    await take(4);
    await world.deleteArqsOf(other);
    await take(2);
    await world.report('cmp1', [hot]);
    await eventually(async () => (await fromHistory()).healthy).toBe(0);
    await take(2);
    const { json } = await world.ask('GET', `/operator/v1/report?from=${day}&to=2031-05-02`);
    const mean = (name: 'devices' | 'healthy' | 'handles' | 'in_use') =>
      measurements.reduce((sum, each) => sum + each[name], 0) / measurements.length;
    const [whole, ofProject, ...none] = json.report;
    expect(none).toEqual([]);
    expect(whole).toMatchObject({
      day,
      project_id: null,
      devices: mean('devices'),
      healthy: mean('healthy'),
      handles: mean('handles'),
      in_use: mean('in_use'),
    });
    expect([whole?.in_use, whole?.healthy, whole?.reserved]).toEqual([2.5, 0.75, 0.5]);
    expect(ofProject).toMatchObject({ day, model: whole?.model, devices: null, in_use: 2.5 });
  });
});

describe('sweeps at once', () => {
  it('write a measurement once, and count no bind twice', async () => {
    const { fleet } = world.deps.store;
    const bound = async () => (await scrape()).get('cyborg_binds_total{outcome="bound"}') ?? 0;
    const { revision = 0 } = (await fleet.read('minute')) ?? {};
    const before = await bound();
    const minute = { revision: revision + 1, at: '2031-06-01T00:00:00.000Z', samples: [] };
    const bind = { metric: 'cyborg_binds', labels: ['bound'], value: before + 1 };
    expect(await fleet.write('minute', { ...minute, samples: [bind] })).toBe(true);
    expect(await fleet.write('minute', minute)).toBe(false);
    expect(await bound()).toBe(before + 1);
  });
});

describe('a round', () => {
  it('counts the devices of a host anew in each round', async () => {
    await world.report('cmp1', [hot]);
    await measure();
    const values = await scrape();
    expect(values.get('cyborg_incidents{kind="unhealthy-device"}')).toBe(1);
    expect([...values].filter(([key]) => key.startsWith('cyborg_devices'))).toEqual([
      [expect.stringContaining('state="unhealthy"'), 1],
    ]);
    expect(values.get('cyborg_capacity_servers{profile="pair"}')).toBe(0);
  });
});

describe('a fleet of 10,000 hosts', () => {
  const series = (metric: string, count: number, labels: (index: number) => string[]) =>
    Array.from({ length: count }, (_, index) => ({ metric, labels: labels(index), value: index }));

  it('costs a scrape at most 300 RRU and a second', async () => {
    const { fleet } = world.deps.store;
    const samples = [
      ...series('cyborg_devices', 201, (index) => ['GPU', `model-${index}`, 'ok']),
      ...series('cyborg_handles', 201, (index) => ['VGPU', `model-${index}`, 'free']),
      ...series('cyborg_project_handles', 501, (index) => [
        `${index}`.padEnd(32, 'f'),
        'VGPU',
        'm',
      ]),
      ...series('cyborg_capacity_servers', 200, (index) => [`profile-${index}`]),
    ];
    const at = new Date().toISOString();
    expect(await fleet.write('complete', { revision: 1_000_000, at, samples })).toBe(true);
    const startedMs = performance.now();
    expect((await scrape()).size).toBeGreaterThan(samples.length);
    expect(performance.now() - startedMs).toBeLessThan(1000);

    // The same reads as those of the answer.
    const { strong, close } = createDocuments();
    countCapacity(strong);
    resetCounts();
    const counted = fleetStore(strong, tableName(stage, 'history'));
    await counted.read('complete');
    await counted.read('minute');
    close();
    expect(counts.reads).toBeGreaterThan(10);
    expect(counts.reads).toBeLessThanOrEqual(300);
  });

  it('is measured within an hour, and by a run of the sweep in part', async () => {
    const names = Array.from(
      { length: 1230 },
      (_, index) => `cmp${String(index).padStart(5, '0')}`,
    );
    const hosts = names.map((hostname) => ({
      hostname,
      firstSeen: '2026-01-01T00:00:00Z',
      bootId: 'one',
      presence: { isConnected: true, since: '2026-01-01T00:00:00Z' },
      devices: 0,
      notOffered: 0,
    }));
    const asked: string[] = [];
    const { inventory } = world.deps.store;
    const deps = withStore(world.deps, {
      inventory: {
        host: async (hostname) => {
          asked.push(hostname);
          return inventory.host(hostname);
        },
      },
    });
    await measureFleet(deps, hosts);
    expect(asked).toHaveLength(21);
    for (let run = 2; run <= 59; run++) await measureFleet(deps, hosts);
    expect([...asked].sort()).toEqual(names);
  });
});
