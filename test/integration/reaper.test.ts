// Claims of instances that are gone. Each test says what Nova and Placement answer; the rest is
// real.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceUnavailable } from '#core/clients/http.ts';
import { ownIdentity } from '#core/clients/openstack/keystone/keystone.ts';
import type { SomeServer } from '#core/clients/openstack/nova.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { reapWaiting } from '#core/operations/release/reap/reap-waiting.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { aCaller, instanceOf } from '#test/support/builders.ts';
import { countingMetrics, withClients, withStore } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const provider = providerUuid('cmp1_FakeDevice');
const minutes = 60_000;
const handles = 12;
const foreign = { uuid: 'bbbbbbbb-0000-4000-8000-000000000001', projectId: 'another project' };

const world = perFile(startWorld);
let instances = 0;

/** Answers of Nova and Placement. */
let known: Set<string>;
let allocated: Set<string>;

/** Servers that Nova lists, besides the known ones. */
let listed: SomeServer[];

/** Servers for which Nova answers 500. */
let broken: Set<string>;

/** Servers that Nova has on no host. */
let hostless: Set<string>;
let counting: ReturnType<typeof countingMetrics>;

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await world.report('cmp1', [aDevice({ handles })]);
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

beforeEach(async () => {
  for (; instances > 0; instances -= 1) await world.deleteArqsOf(instanceOf(instances));
  known = new Set([foreign.uuid]);
  allocated = new Set();
  broken = new Set();
  hostless = new Set();
  listed = [foreign];
  counting = countingMetrics();
});

async function bound(): Promise<string> {
  instances += 1;
  const instance = instanceOf(instances);
  await world.createBound('fpga', { provider, instance });
  return instance;
}

async function reapAt(laterMs: number, store: Partial<ConsumerDeps['store']> = {}): Promise<void> {
  await reap(depsAt(laterMs, store));
}

function depsAt(laterMs: number, store: Partial<ConsumerDeps['store']> = {}): ConsumerDeps {
  const deps = withStore(world.deps, store);
  const counted = { ...deps, metrics: counting.metrics, clock: () => Date.now() + laterMs };
  return withClients(counted, {
    nova: {
      server: async (uuid) => {
        if (broken.has(uuid)) throw new ServiceUnavailable('compute', '/', 'it says 500', true);
        if (hostless.has(uuid)) return { projectId: 'demo', host: null };
        return known.has(uuid) ? { projectId: 'demo' } : 'not-found';
      },
      someServers: async () => listed,
    },
    placement: {
      getAllocations: async (uuid) => (allocated.has(uuid) ? { [provider]: { FPGA: 1 } } : {}),
      allocationsOf: async () =>
        Object.fromEntries([...allocated].map((uuid) => [uuid, { FPGA: 1 }])),
    },
  });
}

/** The answer of a dry run. */
async function listOfReap() {
  const { json } = await world.ask('POST', '/operator/v1/reap', { body: {} });
  return json.waiting;
}

async function boundInstances(): Promise<string[]> {
  const all = Array.from({ length: instances }, (_, index) => instanceOf(index + 1));
  const found = await world.deps.store.arqs.bindings(all);
  return [...found.keys()].sort();
}

/** Two runs of the reaper, eleven minutes apart. */
async function reapTwice(): Promise<void> {
  await reapAt(0);
  await reapAt(11 * minutes);
}

async function isBound(instance: string): Promise<boolean> {
  return (await world.deps.store.arqs.binding(instance)) !== undefined;
}

/** Units of the provider that Placement reserves after a sync. */
async function reserved(): Promise<number | undefined> {
  await syncProviders(world.deps, provider, 1);
  const held = await world.deps.clients.placement.getInventories(provider);
  return held?.inventories.FPGA?.reserved;
}

describe('the reaper', () => {
  it('releases what is held for an instance that is gone', async () => {
    const [gone, there] = [await bound(), await bound()];
    known.add(there);
    await reapTwice();
    expect([await isBound(gone), await isBound(there)]).toEqual([false, true]);
    const stored = await world.deps.store.inventory.provider(provider);
    expect(stored?.handles.filter(({ claim }) => claim)).toHaveLength(1);
    expect(counting.counted).toEqual([{ name: 'InstancesReaped', value: 1 }]);
  });

  it('releases nothing before Nova has answered "not found" twice, ten minutes apart', async () => {
    const instance = await bound();
    await reapAt(0);
    await reapAt(9 * minutes);
    expect(await isBound(instance)).toBe(true);
  });

  it('counts from zero after Nova has found the instance again', async () => {
    const instance = await bound();
    await reapAt(0);
    known.add(instance);
    await reapAt(5 * minutes);
    known.delete(instance);
    await reapAt(11 * minutes);
    expect(await isBound(instance)).toBe(true);
  });

  it('has Placement reserve the units of a server that does not exist, until they are free', async () => {
    const instance = await bound();
    const units: unknown[] = [];
    for (const [minute, isThere] of [
      [0, false],
      [5, true],
      [6, false],
      [15, false],
      [17, false],
    ] as const) {
      known[isThere ? 'add' : 'delete'](instance);
      await reapAt(minute * minutes);
      units.push([await reserved(), await isBound(instance)]);
    }
    expect(units).toEqual([
      [1, true],
      [0, true],
      [1, true],
      [1, true],
      [0, false],
    ]);
  });

  it('reserves nothing for a server on no host, which may come to one', async () => {
    const instance = await bound();
    hostless.add(instance);
    await reapAt(0);
    expect(await reserved()).toBe(0);
    await reapAt(11 * minutes);
    expect(await isBound(instance)).toBe(false);
  });

  it('reserves nothing while Placement has an allocation elsewhere', async () => {
    const instance = await bound();
    const { clients, ...deps } = depsAt(0);
    const placement = { ...clients.placement, allocationsOf: async () => ({}) };
    allocated.add(instance);
    await reap({ ...deps, clients: { ...clients, placement } });
    expect(await reserved()).toBe(0);
  });

  it('keeps an instance that has an allocation', async () => {
    const instance = await bound();
    allocated.add(instance);
    await reapTwice();
    expect(await isBound(instance)).toBe(true);
  });

  it.each([
    [
      'shows our user no servers of other projects',
      async () => {
        const us = await ownIdentity(world.deps.clients.keystone);
        listed = us?.projectId ? [{ ...foreign, projectId: us.projectId }] : [];
      },
    ],
    ['lists the servers and answers 404 for each', async () => known.clear()],
  ])('releases nothing while Nova %s', async (_what, blind) => {
    const instance = await bound();
    await blind();
    await reapTwice();
    expect(await isBound(instance)).toBe(true);
    expect(counting.counted).toEqual([{ name: 'ReaperRefused', dimension: 'blind', value: 1 }]);
  });

  it('goes on past a server for which Nova answers 500', async () => {
    const first = await bound();
    broken.add(first);
    const second = await bound();
    await reapTwice();
    expect([await isBound(first), await isBound(second)]).toEqual([true, false]);
  });

  it('goes on to other pages while Nova shows no server of one page', async () => {
    const [first, second] = [await bound(), await bound()];
    broken = new Set([first, second]);
    let moves = 0;
    const putCursor = async () => {
      moves += 1;
    };
    await reapAt(0, { reaper: { ...world.deps.store.reaper, putCursor } });
    expect(moves).toBe(1);
    expect([await isBound(first), await isBound(second)]).toEqual([true, true]);
  });

  it('releases one a sweep when too many instances are gone at once, and asks an operator', async () => {
    for (let count = 0; count < 12; count += 1) await bound();
    await reapTwice();
    expect(await boundInstances()).toHaveLength(11);
    expect(counting.counted).toEqual([
      { name: 'ReaperRefused', dimension: 'too-many', value: 1 },
      { name: 'InstancesReaped', value: 1 },
    ]);
    expect((await listOfReap()).map(({ instance_uuid }) => instance_uuid).sort()).toEqual(
      await boundInstances(),
    );
    // One that Nova has on a host again, and one that was deleted, do not wait.
    const [first = '', second = ''] = await boundInstances();
    known.add(first);
    await world.deleteArqsOf(second);
    await reapAt(12 * minutes);
    expect([await boundInstances(), await listOfReap()]).toEqual([[first], []]);
  });

  it('releases none of many that exist on no host: only their absence is proven', async () => {
    for (let count = 0; count < 11; count += 1) hostless.add(await bound());
    await reapTwice();
    await reapAt(12 * minutes);
    expect(await boundInstances()).toHaveLength(11);
    const listed = await listOfReap();
    expect(new Set(listed.map(({ nova }) => nova))).toEqual(new Set(['no-host']));
    const { json } = await world.ask('GET', '/operator/v1/incidents?kind=reaper-waits');
    expect(json.incidents).toHaveLength(11);
    expect(json.incidents[0]).toMatchObject({ hostname: 'cmp1', action: 'reap' });
  });
});

describe('an operator who reaps', () => {
  const afterReaps = async () => {
    for (let count = 0; count < 12; count += 1) hostless.add(await bound());
    await reapTwice();
  };
  const reapAsOperator = (only?: string) =>
    reapWaiting(depsAt(11 * minutes), aCaller({ roles: ['admin'] }), only, Number.MAX_VALUE);

  it('has each looked at again, and those that may be in use kept', async () => {
    await afterReaps();
    const [moved = '', allocatedNow = ''] = await boundInstances();
    hostless.delete(moved);
    known.add(moved);
    allocated.add(allocatedNow);
    const { released, kept, left } = await reapAsOperator();
    expect([released.length, left]).toEqual([10, 0]);
    expect(kept.map(({ reason }) => reason).sort()).toEqual([
      'Nova has it on a host.',
      'Placement has an allocation for it.',
    ]);
    expect(await boundInstances()).toEqual([moved, allocatedNow].sort());
  });

  it('may name one, and gets nothing released while Nova shows no server of others', async () => {
    await afterReaps();
    const [one = ''] = await boundInstances();
    listed = [];
    await expect(reapAsOperator(one)).rejects.toThrow('proves nothing');
    listed = [foreign];
    expect((await reapAsOperator(one)).released).toEqual([one]);
    expect(await boundInstances()).toHaveLength(11);
  });

  it('ends in time, and says how many are left', async () => {
    await afterReaps();
    const { released, left } = await reapWaiting(depsAt(11 * minutes), aCaller(), undefined, 0);
    expect([released, left]).toEqual([[], 12]);
  });

  it('changes nothing without dry_run false', async () => {
    await afterReaps();
    expect(await listOfReap()).toHaveLength(12);
    expect(await boundInstances()).toHaveLength(12);
    const { status, text } = await world.ask('POST', '/operator/v1/reap', {
      body: { dry_run: false, instance: 'x' },
    });
    expect([status, text]).toEqual([400, expect.stringContaining('instance')]);
  });
});

it("an ARQ that an admin has made for a tenant's instance is the tenant's", async () => {
  const { deps } = world;
  const [arqUuid] = await world.createArqs('fpga', 'admin-token');
  const caller = aCaller({ projectId: idOf('project', 'admin'), roles: ['admin'] });
  instances += 1;
  const instance = instanceOf(instances);
  const asTenants = withClients(deps, { nova: { server: async () => ({ projectId: 'tenant' }) } });
  await bindArqs(asTenants, caller, [
    { arqUuid, hostname: 'cmp1', providerUuid: provider, instanceUuid: instance },
  ]);
  expect((await deps.store.arqs.binding(instance))?.projectId).toBe('tenant');
});
