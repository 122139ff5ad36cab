// Deletes of ARQs that another request unbinds or binds after the delete has read them.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { BindTarget } from '#core/domain/arq/bind-plan.ts';
import { type ArqUuid, type InstanceUuid, providerUuid } from '#core/domain/ids.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { deleteArqs } from '#core/operations/release/delete-arqs.ts';
import { unbindArqs } from '#core/operations/release/unbind-arqs.ts';
import { aCaller, instanceOf } from '#test/support/builders.ts';
import { withStore } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld, type World } from '#test/support/world.ts';

const provider = providerUuid('cmp1_FakeDevice');
const nova = aCaller();
const [one, other] = [instanceOf(1), instanceOf(2)];

const world = perFile(startWorld);
let arq: ArqUuid;

beforeAll(async () => {
  await world.report('cmp1', [aDevice({ handles: 2 })]);
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

beforeEach(async () => {
  const [made] = await createArqs(world.deps, nova, 'fpga');
  arq = made?.uuid as ArqUuid;
  await bind(one);
});

async function bind(instanceUuid: InstanceUuid): Promise<void> {
  const target: BindTarget = {
    arqUuid: arq,
    hostname: 'cmp1',
    providerUuid: provider,
    instanceUuid,
  };
  await bindArqs(world.deps, nova, [target]);
}

/** Deletes the ARQ, and runs `meanwhile` when the delete has read it. */
async function deleteDuring(meanwhile: () => Promise<void>): Promise<void> {
  const { deps } = world;
  let isDone = false;
  const racing = withStore(deps, {
    arqs: {
      byUuids: async (uuids) => {
        const found = await deps.store.arqs.byUuids(uuids);
        if (!isDone) {
          isDone = true;
          await meanwhile();
        }
        return found;
      },
    },
  });
  await deleteArqs(racing, nova, [arq]);
}

async function whatIsLeft() {
  const stored = await world.deps.store.inventory.provider(provider);
  const claims = (stored?.handles ?? []).flatMap(({ claim }) => claim ?? []);
  return { arqs: (await world.deps.store.arqs.byUuids([arq])).size, claims: claims.length };
}

const unbind = () => unbindArqs(world.deps, nova, [arq]);

it.each([
  ['unbinds', unbind],
  ['binds to another instance', () => unbind().then(() => bind(other))],
  ['deletes first', () => deleteArqs(world.deps, nova, [arq])],
])('deletes an ARQ that another request %s, and frees its device', async (_what, meanwhile) => {
  await deleteDuring(meanwhile);
  expect(await whatIsLeft()).toEqual({ arqs: 0, claims: 0 });
});

/**
 * Records the deletes and releases that the store is asked for, and how many ran at once at most.
 */
async function watched(work: (deps: World['deps']) => Promise<void>) {
  const { deps } = world;
  const seen = { deletes: 0, releases: 0, atOnce: 0 };
  let running = 0;
  const count = async <T>(kind: 'deletes' | 'releases', run: () => Promise<T>): Promise<T> => {
    seen[kind] += 1;
    running += 1;
    seen.atOnce = Math.max(seen.atOnce, running);
    try {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return await run();
    } finally {
      running -= 1;
    }
  };
  const { arqs, bindings } = deps.store;
  await work(
    withStore(deps, {
      arqs: { deleteUnbound: (uuid) => count('deletes', () => arqs.deleteUnbound(uuid)) },
      bindings: { release: (...given) => count('releases', () => bindings.release(...given)) },
    }),
  );
  return seen;
}

it('deletes unbound ARQs concurrently, eight at a time', async () => {
  const made = await Promise.all(
    Array.from({ length: 20 }, () => createArqs(world.deps, nova, 'fpga')),
  );
  const uuids = made.flat().map(({ uuid }) => uuid);
  const seen = await watched((deps) => deleteArqs(deps, nova, uuids));
  expect(seen).toEqual({ deletes: 20, releases: 0, atOnce: 8 });
  expect((await world.deps.store.arqs.byUuids(uuids)).size).toBe(0);
  await deleteArqs(world.deps, nova, [arq]);
});

it('releases the ARQs of one instance in one transaction', async () => {
  await deleteArqs(world.deps, nova, [arq]);
  await world.createProfile('fpga-2', { 'resources:FPGA': '2' });
  const uuids = (await createArqs(world.deps, nova, 'fpga-2')).map(({ uuid }) => uuid);
  const targets = uuids.map((arqUuid): BindTarget => {
    return { arqUuid, hostname: 'cmp1', providerUuid: provider, instanceUuid: one };
  });
  await bindArqs(world.deps, nova, targets);
  const seen = await watched((deps) => deleteArqs(deps, nova, uuids));
  expect(seen).toEqual({ deletes: 0, releases: 1, atOnce: 1 });
  expect((await world.deps.store.arqs.byUuids(uuids)).size).toBe(0);
  expect((await whatIsLeft()).claims).toBe(0);
});
