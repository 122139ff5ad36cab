// What Nova leaves behind: ARQs of a build or unshelve that failed, which Nova does not delete.

import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { type ArqUuid, type InstanceUuid, providerUuid } from '#core/domain/ids.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { failBind } from '#core/operations/bind/finish-bind.ts';
import { deleteArqs, deleteArqsOfInstance } from '#core/operations/release/delete-arqs.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { unbindArqs } from '#core/operations/release/unbind-arqs.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { aCaller } from '#test/support/builders.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const provider = providerUuid('cmp1_FakeDevice');
const instance = 'aaaaaaaa-0000-4000-8000-00000000abcd' as InstanceUuid;
const foreign = { uuid: 'bbbbbbbb-0000-4000-8000-000000000001', projectId: 'another' };
const minutes = 60_000;
const demo = idOf('project', 'demo');
const nova = aCaller({ projectId: demo, hasServiceToken: true });
const admin = aCaller({ projectId: 'admin', roles: ['admin'], hasServiceToken: false });

const world = perFile(startWorld);

beforeAll(async () => {
  await world.report('cmp1', [aDevice({ handles: 2 })]);
  await world.createProfile('fpga', { 'resources:FPGA': '2' });
});

afterEach(() => world.deleteArqsOf(instance));

/** @param host where Nova has the instance */
function withNova(host: string | null | undefined, laterMs = 0, projectId = demo): ConsumerDeps {
  const deps = { ...world.deps, clock: () => Date.now() + laterMs };
  return withClients(deps, {
    nova: {
      server: async (uuid) =>
        uuid === foreign.uuid ? { projectId: 'another', host: 'x' } : { projectId, host },
      someServers: async () => [foreign],
    },
    placement: { getAllocations: async () => ({}), allocationsOf: async () => ({}) },
  });
}

async function create(): Promise<ArqUuid[]> {
  return (await world.createArqs('fpga')) as ArqUuid[];
}

function bind(deps: ConsumerDeps, arqs: readonly ArqUuid[]): Promise<void> {
  const targets = arqs.map((arqUuid) => {
    return { arqUuid, hostname: 'cmp1', providerUuid: provider, instanceUuid: instance };
  });
  return bindArqs(deps, nova, targets);
}

async function boundArqs(): Promise<readonly string[]> {
  return (await world.deps.store.arqs.binding(instance))?.arqUuids ?? [];
}

describe('a bind of an instance that has another binding', () => {
  it('replaces the binding when Nova has the instance on no host', async () => {
    await bind(withNova(null), await create());
    // All handles are taken by the first binding, as after Nova has freed its allocation.
    const second = await create();
    await bind(withNova(null), second);
    expect([...(await boundArqs())].sort()).toEqual([...second].sort());
    const stored = await world.deps.store.inventory.provider(provider);
    expect(stored?.handles.map(({ claim }) => claim?.arqUuid).sort()).toEqual([...second].sort());
  });

  it.each([
    ['a host has the instance', 'cmp1', demo],
    ['Nova does not show the host', undefined, demo],
    ['Nova has the instance in another project', null, 'another'],
  ])('is refused and changes nothing when %s', async (_, host, project) => {
    const first = await create();
    await bind(withNova(null), first);
    const later = bind(withNova(host, 0, project), await create());
    await expect(later).rejects.toThrow(/already has accelerator/);
    expect([...(await boundArqs())].sort()).toEqual([...first].sort());
  });

  it('is refused when its ARQs are older than that binding', async () => {
    const early = await create();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const late = await create();
    await bind(withNova(null), late);
    await expect(bind(withNova(null), early)).rejects.toThrow(/already has accelerator/);
    expect([...(await boundArqs())].sort()).toEqual([...late].sort());
  });
});

describe('ARQs that are Bound without an allocation', () => {
  it('are released when Nova has said twice that no host has the instance', async () => {
    await bind(withNova(null), await create());
    await reap(withNova(null));
    await reap(withNova(null, 9 * minutes));
    expect(await boundArqs()).toHaveLength(2);
    await reap(withNova(null, 11 * minutes));
    expect(await boundArqs()).toEqual([]);
  });

  it('are found at once however many unbound ARQs a tenant has created', async () => {
    const junk: ArqUuid[] = [];
    for (let count = 0; count < 60; count += 1) junk.push(...(await create()));
    await bind(withNova(null), await create());
    await reap(withNova(null));
    await reap(withNova(null, 11 * minutes));
    expect(await boundArqs()).toEqual([]);
    await deleteArqs(withNova(null), nova, junk);
  });

  it('are kept while a host has the instance', async () => {
    await bind(withNova(null), await create());
    await reap(withNova('cmp1'));
    await reap(withNova('cmp1', 11 * minutes));
    expect(await boundArqs()).toHaveLength(2);
  });

  it('can be deleted by an admin without a service token', async () => {
    await bind(withNova(null), await create());
    await expect(deleteArqsOfInstance(withNova('cmp1'), admin, instance)).rejects.toThrow(
      /requires a service token/,
    );
    await deleteArqsOfInstance(withNova(null), admin, instance);
    expect(await boundArqs()).toEqual([]);
  });
});

describe('ARQs that hold no device and that Nova does not delete', () => {
  it('are deleted by the sweep half an hour after their bind failed', async () => {
    const arqs = await create();
    await bind(withNova(null), arqs);
    const binding = await world.deps.store.arqs.binding(instance);
    if (!binding) throw new TypeError('It is not bound.');
    await failBind(withNova(null), binding, { cause: 'host', reason: 'a test' });
    await sweep(withNova(null, 29 * minutes));
    expect(await boundArqs()).toHaveLength(2);
    // A host has the server: it lost its device by a reboot, and its ARQs say so.
    await sweep(withNova('cmp1', 31 * minutes));
    expect(await boundArqs()).toHaveLength(2);
    await sweep(withNova(null, 62 * minutes));
    expect(await boundArqs()).toEqual([]);
    expect((await world.deps.store.arqs.byUuids(arqs)).size).toBe(0);
  });

  it('are deleted by the sweep after they were unbound by PATCH', async () => {
    const arqs = await create();
    await bind(withNova(null), arqs);
    await unbindArqs(withNova(null), nova, arqs);
    await sweep(withNova(null, 14 * minutes));
    expect((await world.deps.store.arqs.byUuids(arqs)).size).toBe(2);
    await sweep(withNova(null, 16 * minutes));
    expect((await world.deps.store.arqs.byUuids(arqs)).size).toBe(0);
  });
});
