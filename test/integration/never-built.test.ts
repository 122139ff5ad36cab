// Servers that Nova deletes during their build: it deletes no ARQs of them. Each test says what
// Nova and Placement answer at each look; the rest is real.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { SomeServer } from '#core/clients/openstack/nova.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { neverBuiltMax } from '#core/domain/arq/reaper.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { lookAtServer } from '#core/operations/release/reap/look-at-server.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { instanceOf } from '#test/support/builders.ts';
import { countingMetrics, withClients } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const provider = providerUuid('cmp1_FakeDevice');
const foreign = { uuid: 'bbbbbbbb-0000-4000-8000-000000000001', projectId: 'another project' };
const seconds = 1000;

const world = perFile(startWorld);
let instances = 0;
/** The host of each server that Nova has; null for none yet. */
let hosts: Map<string, string | null>;
let allocated: Set<string>;
let listed: SomeServer[];
let isAway: 'Nova' | 'Placement' | undefined;
let counting: ReturnType<typeof countingMetrics>;

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await world.report('cmp1', [aDevice({ handles: 3 })]);
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

beforeEach(async () => {
  for (; instances > 0; instances -= 1) await world.deleteArqsOf(instanceOf(instances));
  hosts = new Map([[foreign.uuid, 'cmp2']]);
  allocated = new Set();
  listed = [foreign];
  isAway = undefined;
  counting = countingMetrics();
});

async function bound(): Promise<string> {
  instances += 1;
  const instance = instanceOf(instances);
  await world.createBound('fpga', { provider, instance });
  return instance;
}

function refuse(service: typeof isAway): void {
  if (isAway === service) throw new ServiceUnavailable('any', '/', 'it is away', true);
}

function depsAt(laterMs: number): ConsumerDeps {
  const { metrics } = counting;
  return withClients(
    { ...world.deps, metrics, clock: () => Date.now() + laterMs },
    {
      nova: {
        server: async (uuid) => {
          refuse('Nova');
          const host = hosts.get(uuid);
          return host === undefined ? 'not-found' : { projectId: 'demo', host };
        },
        someServers: async () => listed,
      },
      placement: {
        getAllocations: async (uuid) => {
          refuse('Placement');
          return allocated.has(uuid) ? { [provider]: { FPGA: 1 } } : {};
        },
        allocationsOf: async () =>
          Object.fromEntries([...allocated].map((uuid) => [uuid, { FPGA: 1 }])),
      },
    },
  );
}

/** Seconds until the next look; 0 for none. */
async function look(instance: string, laterMs: number, attempt = 1): Promise<number> {
  const binding = await world.deps.store.arqs.binding(instance);
  const message = { instance_uuid: instance, bind_id: binding?.bindId ?? instance };
  try {
    await lookAtServer(depsAt(laterMs), message, attempt);
    return 0;
  } catch (error) {
    if (!(error instanceof RetryLater)) throw error;
    return Math.round(error.seconds);
  }
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

describe('of a server that Nova does not know', () => {
  it('releases the devices at a second look, and has Placement reserve them until then', async () => {
    const instance = await bound();
    expect(await look(instance, 3 * seconds)).toBe(60);
    expect(await reserved()).toBe(1);
    expect(await look(instance, 33 * seconds)).toBe(30);
    expect(await isBound(instance)).toBe(true);
    expect(await look(instance, 64 * seconds)).toBe(0);
    expect(await isBound(instance)).toBe(false);
    expect(await reserved()).toBe(0);
    expect(counting.counted).toEqual([{ name: 'InstancesReaped', value: 1 }]);
  });

  it('releases them by the walk of the reaper if the second message is lost', async () => {
    const instance = await bound();
    await look(instance, 3 * seconds);
    await reap(depsAt(50 * seconds));
    expect(await isBound(instance)).toBe(true);
    await reap(depsAt(64 * seconds));
    expect([await isBound(instance), await reserved()]).toEqual([false, 0]);
  });

  it('needs no ten minutes where the walk of the reaper came first', async () => {
    const instance = await bound();
    await reap(depsAt(seconds));
    expect(await look(instance, 3 * seconds)).toBe(60);
    expect(await look(instance, 64 * seconds)).toBe(0);
    expect([await isBound(instance), await reserved()]).toEqual([false, 0]);
  });

  it('keeps what a look has noted while the walk of the reaper was under way', async () => {
    const instance = await bound();
    const deps = depsAt(3 * seconds);
    const looks: number[] = [];
    const server = async () => {
      if (looks.length === 0) looks.push(await look(instance, 3 * seconds));
      return 'not-found' as const;
    };
    await reap(withClients(deps, { nova: { ...deps.clients.nova, server } }));
    expect(looks).toEqual([60]);
    expect(await look(instance, 64 * seconds)).toBe(0);
    expect(await isBound(instance)).toBe(false);
  });

  it('reserves nothing where Placement has an allocation, and looks again', async () => {
    const instance = await bound();
    allocated.add(instance);
    expect(await look(instance, 3 * seconds, 3)).toBe(4);
    expect(await reserved()).toBe(0);
  });

  it('releases nothing while Nova shows no server of another project', async () => {
    const instance = await bound();
    await look(instance, 0);
    listed = [];
    expect(await look(instance, 61 * seconds)).toBe(15);
    expect([await isBound(instance), await reserved()]).toEqual([true, 1]);
    expect(counting.counted).toEqual([{ name: 'ReaperRefused', dimension: 'blind', value: 1 }]);
  });

  it.each(['Nova', 'Placement'] as const)('releases nothing while %s is away', async (service) => {
    const instance = await bound();
    await look(instance, 0);
    isAway = service;
    expect(await look(instance, 61 * seconds, 9)).toBe(15);
    expect(await isBound(instance)).toBe(true);
  });

  it('releases 20 in a minute, and the others later', async () => {
    const instance = await bound();
    await look(instance, 0);
    const minute = 120 * seconds;
    for (let count = 0; count < neverBuiltMax; count += 1) {
      await world.deps.store.reaper.countRelease(Date.now() + minute, neverBuiltMax);
    }
    expect(await look(instance, minute)).toBe(15);
    expect(await isBound(instance)).toBe(true);
    expect(counting.counted).toEqual([{ name: 'ReaperRefused', dimension: 'too-many', value: 1 }]);
    expect(await look(instance, minute + 60 * seconds)).toBe(0);
    expect(await isBound(instance)).toBe(false);
  });

  it('leaves it to the reaper after five minutes', async () => {
    const instance = await bound();
    expect(await look(instance, 301 * seconds)).toBe(0);
    expect([await isBound(instance), await reserved()]).toEqual([true, 0]);
  });
});

describe('of a server that Nova has', () => {
  it('looks once where a host has it', async () => {
    const instance = await bound();
    hosts.set(instance, 'cmp1');
    expect(await look(instance, 3 * seconds)).toBe(0);
  });

  // It waits for a host during its build, and during an unshelve.
  it('looks again until a host has it, and reserves nothing', async () => {
    const instance = await bound();
    hosts.set(instance, null);
    expect(await look(instance, 3 * seconds, 4)).toBe(8);
    expect(await reserved()).toBe(0);
  });

  it.each([
    ['a host', 'cmp1'],
    ['no host', null],
  ])('offers its units again if the second look finds it on %s', async (_where, host) => {
    const instance = await bound();
    await look(instance, 0);
    hosts.set(instance, host);
    expect(await look(instance, 61 * seconds)).toBe(host ? 0 : 1);
    expect([await isBound(instance), await reserved()]).toEqual([true, 0]);
  });

  it.each([
    ['on a host', 'cmp1'],
    ['on no host', null],
  ])('offers its units again if the walk of the reaper finds it %s', async (_where, host) => {
    const instance = await bound();
    await look(instance, 0);
    hosts.set(instance, host);
    await reap(depsAt(61 * seconds));
    await reap(depsAt(122 * seconds));
    expect([await isBound(instance), await reserved()]).toEqual([true, 0]);
  });

  it('offers its units again if Placement has an allocation at the second look', async () => {
    const instance = await bound();
    await look(instance, 0);
    allocated.add(instance);
    await look(instance, 61 * seconds);
    expect([await isBound(instance), await reserved()]).toEqual([true, 0]);
  });
});

it('reserves nothing for the next holder of a handle', async () => {
  const instance = await bound();
  await look(instance, 0);
  await world.deleteArqsOf(instance);
  expect(await reserved()).toBe(0);
  for (let count = 0; count < 3; count += 1) await bound();
  expect(await reserved()).toBe(0);
});
