// A host that is gone for good: nothing of it stays, wherever the request that forgets it dies.

import { beforeAll, describe, expect, it } from 'vitest';
import { createStore } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { newRelease } from '#core/operations/host-work/new-release.ts';
import { forgetHost } from '#core/operations/hosts/forget-host.ts';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { hasLeft } from '#test/support/stored/allocations.ts';
import { refused } from '#test/support/stored/refusals.ts';
import { everythingStored } from '#test/support/stored/tables.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld, type World } from '#test/support/world.ts';

const hourMs = 3_600_000;
const caller: Caller = {
  requestId: 'req-test',
  userId: 'operator',
  projectId: 'admin',
  roles: ['admin'],
  hasServiceToken: false,
};

const world = perFile(() =>
  startWorld({ consumers: true, settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }),
);

beforeAll(() => world.createProfile('fpga', { 'resources:FPGA': '1' }));

class Died extends Error {}

/** The dependencies of a process that dies at its n-th call to DynamoDB. */
function dyingAt(step: number, phase: 'before' | 'after') {
  let calls = 0;
  const clients = createDocuments();
  clients.strong.middlewareStack.add(
    (next) => async (args) => {
      calls += 1;
      if (calls > step || (calls === step && phase === 'before')) throw new Died();
      const answer = await next(args);
      if (calls >= step) throw new Died();
      return answer;
    },
    { step: 'initialize', name: 'die', priority: 'high' },
  );
  return { ...world.deps, ...createStore(clients, stage) };
}

/** The sweep a day later; AWS IoT has no job of these hosts. */
function tomorrow(): World['deps'] {
  const { deps } = world;
  const jobs = { create: unused, cancel: unused, executionStatus: async () => undefined };
  const clock = () => Date.now() + 24 * hourMs;
  return { ...deps, clock, clients: { ...deps.clients, jobs } };
}

async function unused(): Promise<void> {}

const boards = [
  aDevice({ handles: 2 }),
  aDevice({ address: '0000:0d:00.0', provider_suffix: 'Other', handles: 1 }),
];

/** Away for an hour, with a device in maintenance, and with a program that is not confirmed. */
async function anAwayHost(name: string): Promise<void> {
  const { deps } = world;
  await world.startComputeNode(name);
  const at = Date.now() - hourMs;
  await applySettled(deps, name, aReport(boards), at);
  await recordPresence(deps, name, {
    clientId: name,
    eventType: 'disconnected',
    timestamp: at,
  } as never);
  const provider = providerUuid(`${name}_FakeDevice`);
  const stored = await deps.store.inventory.provider(provider);
  const [handle] = stored?.handles ?? [];
  if (!handle) throw new Error('The host has no handle.');
  await eventually(() => deps.clients.placement.getProvider(provider)).toBeTruthy();
  const handles = [{ providerUuid: provider, handleUuid: handle.uuid }];
  const { release, dueAt } = newRelease(deps, { hostname: name, handles });
  await deps.store.regions.startProgram(
    { ...release, kind: 'program', imageId: 'any', providerUuid: provider },
    { image: 'any', by: 'operator', at: dueAt, state: 'started' },
    dueAt,
  );
  const { devices } = await deps.store.inventory.host(name);
  await world.ask('POST', `/v2/devices/${devices[1]?.uuid}/disable`);
}

/** The history of a host stays. */
function isHistory(key: string): boolean {
  return / \d{4}-\d\d-\d\dT/.test(key);
}

async function rowsOf(name: string): Promise<string[]> {
  const providers = ['FakeDevice', 'Other'].map((each) => providerUuid(`${name}_${each}`));
  return (await everythingStored())
    .map(({ pk, sk }) => `${pk} ${sk ?? ''}`)
    .filter((key) => !isHistory(key))
    .filter((key) => [`HOST#${name} `, ...providers].some((part) => key.includes(part)));
}

async function expectGone(name: string): Promise<void> {
  await eventually(() => rowsOf(name)).toEqual([]);
  const provider = providerUuid(`${name}_FakeDevice`);
  // A run of the sync that was overtaken may write the provider again, and then removes it.
  await eventually(() => hasLeft(world, provider)).toBe(true);
  // A request that died within a release leaves its row to the sweep.
  await sweep(tomorrow());
  const releases = (await everythingStored()).filter(({ pk }) =>
    /^(RELEASE|PROGRAM)/.test(`${pk}`),
  );
  expect(releases).toEqual([]);
}

describe('DELETE /operator/v1/hosts/{hostname}', () => {
  it('refuses a host that is online, and says so', async () => {
    await applySettled(world.deps, 'online1', aReport([boards[0] as never]), Date.now());
    const answer = await world.ask('DELETE', '/operator/v1/hosts/online1');
    expect([answer.status, answer.json.error]).toEqual([409, expect.stringContaining('is online')]);
  });

  it('refuses a host with a claimed handle, and names the instance', async () => {
    const { deps } = world;
    await world.startComputeNode('held1');
    await applySettled(deps, 'held1', aReport([aDevice()]), Date.now() - hourMs);
    await recordPresence(deps, 'held1', {
      clientId: 'held1',
      eventType: 'disconnected',
      timestamp: Date.now() - 50_000,
    } as never);
    const instance = '77aa0000-0000-4000-8000-000000000007';
    const provider = providerUuid('held1_FakeDevice');
    await world.createBound('fpga', { host: 'held1', provider, instance });
    const later = { ...deps, clock: () => Date.now() + hourMs };
    await expect(forgetHost(later, caller, 'held1')).rejects.toThrow(instance);
    expect(await rowsOf('held1')).toContain('HOST#held1 SUMMARY');
  });

  it('an unknown host: 404, and nothing is stored', async () => {
    expect((await refused(world, 'DELETE', '/operator/v1/hosts/nowhere', {})).status).toBe(404);
  });

  it('leaves nothing of the host; a later report makes it a new host', async () => {
    await anAwayHost('gone1');
    expect((await world.ask('DELETE', '/operator/v1/hosts/gone1')).status).toBe(204);
    await expectGone('gone1');
    expect((await world.ask('DELETE', '/operator/v1/hosts/gone1')).status).toBe(404);
    const late = { clientId: 'gone1', eventType: 'disconnected', timestamp: Date.now() } as const;
    await recordPresence(world.deps, 'gone1', late);
    await expectGone('gone1');
    await applySettled(world.deps, 'gone1', aReport(boards), Date.now());
    const { host } = await world.deps.store.inventory.host('gone1');
    expect([host.epoch, host.earlierBoots]).toEqual([1, []]);
  });
});

describe('a request that dies', { tags: ['long'] }, () => {
  it.each(['before', 'after'] as const)(
    '%s every second of its steps is made up for by another',
    async (phase) => {
      let step = phase === 'before' ? 1 : 2;
      for (; ; step += 2) {
        const name = `${phase}${step}`;
        await anAwayHost(name);
        const death = await forgetHost(dyingAt(step, phase), caller, name).then(
          () => 'none',
          (error: unknown) => error,
        );
        if (death === 'none') break;
        expect(death).toBeInstanceOf(Died);
        const later = { ...world.deps, clock: () => Date.now() + 60_000 };
        await forgetHost(later, caller, name).catch((error: Error) => {
          // It died after its last step.
          if (error.name !== 'HostNotFound') throw error;
        });
        await expectGone(name);
      }
      expect(step).toBeGreaterThan(12);
    },
  );
});
