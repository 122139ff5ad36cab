// Quotas of projects on a real DynamoDB engine: creations at a limit, recounts, and both at once.

import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createStore, type Deps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { recount } from '#core/operations/quotas/recount.ts';
import { deleteQuota, setQuota } from '#core/operations/quotas/set-quota.ts';
import { deleteArqs } from '#core/operations/release/delete-arqs.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import type { QuotaStore } from '#core/store/quotas/quotas.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { countCapacity, counts } from '#test/support/aws/aws-counter.ts';
import { aCaller } from '#test/support/builders.ts';
import { withClients, withStore } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const minute = 60_000;
const world = perFile(startWorld);
let project: string;

beforeAll(async () => {
  await world.report('cmp1', [aDevice({ handles: 2 })]);
  const profiles = {
    fpga: [{ 'resources:FPGA': '1' }],
    fpga3: [{ 'resources:FPGA': '3' }],
    both: [{ 'resources:FPGA': '1' }, { 'resources:VGPU': '1' }],
  };
  for (const [name, groups] of Object.entries(profiles)) await world.createProfile(name, ...groups);
});

beforeEach(() => {
  project = randomUUID().replaceAll('-', '');
});

/** The operations' dependencies when so much time has passed. */
const later = (milliseconds: number) => ({ ...world.deps, clock: () => Date.now() + milliseconds });

const caller = () => aCaller({ projectId: project });
const create = (profile = 'fpga', deps: Deps = world.deps) => createArqs(deps, caller(), profile);
const remove = (arqs: readonly Arq[]) =>
  deleteArqs(
    world.deps,
    caller(),
    arqs.map(({ uuid }) => uuid),
  );
const left = async () => (await world.deps.store.quotas.byProject(project))?.unitsLeft;
const stored = async () => (await world.deps.listings.arqUuidsOf(project)).length;

/** Creates an ARQ, and runs `meanwhile` when its units are taken and it is not stored. */
function createDuring(
  meanwhile: () => Promise<unknown>,
  deps = world.deps,
): Promise<readonly Arq[]> {
  let isDone = false;
  const createArq: typeof deps.store.arqs.create = async (...given) => {
    if (!isDone) {
      isDone = true;
      await meanwhile();
    }
    return deps.store.arqs.create(...given);
  };
  return create('fpga', withStore(deps, { arqs: { create: createArq } }));
}

describe('a creation', () => {
  it('that exceeds the quota is refused, stores nothing, and names the class', async () => {
    await setQuota(world.deps, project, { FPGA: 4 });
    await create('fpga3');
    await expect(create('fpga3')).rejects.toMatchObject({
      kind: 'forbidden',
      code: 'cyborg.quota.exceeded',
      message: `Quota of FPGA exceeded for project ${project}: limit 4, in use 3, wanted 3. Delete servers with accelerators, or ask an administrator for a higher quota.`,
    });
    expect([await stored(), await left()]).toEqual([3, { FPGA: 1 }]);
  });

  it('takes units of all its classes or of none', async () => {
    await setQuota(world.deps, project, { FPGA: 5, VGPU: 1 });
    await create('both');
    await expect(create('both')).rejects.toThrow('Quota of VGPU exceeded');
    expect([await stored(), await left()]).toEqual([2, { FPGA: 4, VGPU: 0 }]);
  });

  it('is not limited in a class without a limit, or in another project', async () => {
    await setQuota(world.deps, project, { VGPU: 0 });
    await create('fpga3');
    await expect(create('both')).rejects.toThrow('Quota of VGPU exceeded');
    project = 'another';
    expect(await create('both')).toHaveLength(2);
  });

  it('beside many others never exceeds the quota, and uses all of it', async () => {
    await setQuota(world.deps, project, { FPGA: 7 });
    const ends = await Promise.allSettled(Array.from({ length: 20 }, () => create()));
    const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.code] : []));
    expect(refusals).toEqual(Array(13).fill('cyborg.quota.exceeded'));
    expect([await stored(), await left()]).toEqual([7, { FPGA: 0 }]);
  });

  it('gets the unit of an ARQ that was deleted a second before', async () => {
    await setQuota(world.deps, project, { FPGA: 1 });
    await remove(await create());
    expect(await create('fpga', later(1100))).toHaveLength(1);
    await expect(create('fpga', later(2300))).rejects.toThrow('limit 1, in use 1, wanted 1');
  });

  it('gets the unit of a creation that died', async () => {
    await setQuota(world.deps, project, { FPGA: 1 });
    await expect(createDuring(() => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
    await expect(create()).rejects.toThrow('in use 1');
    expect(await create('fpga', later(1100))).toHaveLength(1);
  });

  it('whose unit another creation got is refused, and stores nothing', async () => {
    await setQuota(world.deps, project, { FPGA: 1 });
    const slow = createDuring(() => create('fpga', later(1100)));
    await expect(slow).rejects.toThrow('limit 1, in use 1, wanted 1');
    expect(await stored()).toBe(1);
  });

  it('whose unit a recount gave back takes another one', async () => {
    await setQuota(world.deps, project, { FPGA: 1 });
    expect(await createDuring(() => recount(later(1100), project))).toHaveLength(1);
    expect([await stored(), await left()]).toEqual([1, { FPGA: 0 }]);
  });

  it('counts once where the answer to its take was lost', async () => {
    await setQuota(world.deps, project, { FPGA: 1 });
    const { take } = world.deps.store.quotas;
    const twice: QuotaStore['take'] = async (...given) => (await take(...given)) && take(...given);
    expect(await create('fpga', withStore(world.deps, { quotas: { take: twice } }))).toHaveLength(
      1,
    );
    expect(await left()).toEqual({ FPGA: 0 });
  });
});

it('a quota costs a creation one write unit more, with ten other creations in the last minute, too', async () => {
  const documents = createDocuments();
  countCapacity(documents.strong);
  countCapacity(documents.documents);
  const deps = { ...world.deps, ...createStore(documents, stage) };
  const costOf = async () => {
    const before = { ...counts };
    await create('fpga', deps);
    return { writes: counts.writes - before.writes, reads: counts.reads - before.reads };
  };
  const costsOf = async (count: number) => {
    const costs = [];
    while (costs.length < count) costs.push(await costOf());
    return costs.sort((one, other) => one.writes - other.writes);
  };
  // A creation that makes or tidies the row of the project's places takes more.
  const [free = { writes: 0, reads: 0 }] = await costsOf(3);
  expect(free.writes).toBeGreaterThan(0);
  await setQuota(world.deps, project, { FPGA: 1000, VGPU: 1000, CUSTOM_NIC: 1000 });
  const costs = (await costsOf(10)).slice(0, 9);
  expect(costs).toEqual(costs.map(() => ({ ...free, writes: free.writes + 1 })));
  documents.close();
});

describe('a recount', () => {
  it('by the sweep gives units of deleted ARQs and of dead creations back', async () => {
    await setQuota(world.deps, project, { FPGA: 5 });
    await remove(await create('fpga3'));
    await expect(createDuring(() => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
    await create();
    expect(await left()).toEqual({ FPGA: 0 });
    await sweep(later(2 * minute));
    expect((await world.deps.store.quotas.byProject(project))?.recent).toEqual({});
    expect(await left()).toEqual({ FPGA: 4 });
  });

  it('keeps the unit of a creation during the recount', async () => {
    await setQuota(world.deps, project, { FPGA: 9 });
    const { recounted } = world.deps.store.quotas;
    const during: QuotaStore['recounted'] = async (...given) => {
      await create('fpga3');
      return recounted(...given);
    };
    const deps = withStore(later(1100), { quotas: { recounted: during } });
    await remove(await create('fpga3'));
    expect(await recount(deps, project)).toBe(true);
    expect(await left()).toEqual({ FPGA: 6 });
  });

  it('that another recount overtakes changes nothing', async () => {
    await setQuota(world.deps, project, { FPGA: 9 });
    await remove(await create('fpga3'));
    const { recounted } = world.deps.store.quotas;
    const overtaken: QuotaStore['recounted'] = async (...given) => {
      expect(await recount(later(1200), project)).toBe(true);
      return recounted(...given);
    };
    const deps = withStore(later(1100), { quotas: { recounted: overtaken } });
    expect(await recount(deps, project)).toBe(false);
    expect(await left()).toEqual({ FPGA: 9 });
  });

  it('moves the count of an ARQ that a bind moves to the project of its instance', async () => {
    const instanceUuid = randomUUID();
    const owner = randomUUID().replaceAll('-', '');
    await setQuota(world.deps, project, { FPGA: 1 });
    await setQuota(world.deps, owner, { FPGA: 1 });
    const [arq] = await create();
    const server = async () => ({ projectId: owner, host: 'cmp1' });
    const deps = withClients(world.deps, { nova: { server } });
    const admin = aCaller({ projectId: project, roles: ['admin'] });
    const target = { hostname: 'cmp1', providerUuid: providerUuid('cmp1_FakeDevice') };
    await bindArqs(deps, admin, [{ ...target, arqUuid: arq?.uuid, instanceUuid } as never]);
    await sweep(later(1100));
    expect(await left()).toEqual({ FPGA: 1 });
    expect((await world.deps.store.quotas.byProject(owner))?.unitsLeft).toEqual({ FPGA: 0 });
  });
});

describe('a quota', () => {
  it('that is set counts what the project has', async () => {
    await create('fpga3');
    const quota = await setQuota(world.deps, project, { FPGA: 4, VGPU: 2 });
    expect(quota.unitsLeft).toEqual({ FPGA: 1, VGPU: 2 });
  });

  it('below the use refuses creations until the use is below it', async () => {
    const arqs = await create('fpga3');
    await setQuota(world.deps, project, { FPGA: 2 });
    await expect(create('fpga', later(1100))).rejects.toThrow('limit 2, in use 3, wanted 1');
    await remove(arqs.slice(0, 1));
    await expect(create('fpga', later(2200))).rejects.toThrow('limit 2, in use 2, wanted 1');
    await remove(arqs.slice(1, 2));
    expect(await create('fpga', later(3300))).toHaveLength(1);
  });

  it('that is raised, cut to other classes or deleted lets creations through', async () => {
    await setQuota(world.deps, project, { FPGA: 0 });
    await expect(create()).rejects.toThrow('limit 0, in use 0, wanted 1');
    expect((await setQuota(world.deps, project, { FPGA: 1 })).unitsLeft).toEqual({ FPGA: 1 });
    await create();
    await expect(create()).rejects.toThrow('limit 1');
    expect((await setQuota(world.deps, project, { VGPU: 1 })).unitsLeft).toEqual({ VGPU: 1 });
    await create();
    await setQuota(world.deps, project, { FPGA: 2 });
    await expect(create()).rejects.toThrow('limit 2, in use 2');
    await deleteQuota(world.deps, project);
    await create();
    await expect(deleteQuota(world.deps, project)).rejects.toThrow(
      `Project ${project} has no quota.`,
    );
  });

  it('that is set during a creation counts it from the next sweep on', async () => {
    await createDuring(() => setQuota(world.deps, project, { FPGA: 2 }));
    expect(await left()).toEqual({ FPGA: 2 });
    await sweep(later(2 * minute));
    expect(await left()).toEqual({ FPGA: 1 });
  });

  it('that two administrators set at once has the limits of one of them', async () => {
    await setQuota(world.deps, project, { FPGA: 5 });
    await create('fpga3');
    await Promise.all([
      setQuota(world.deps, project, { FPGA: 10 }),
      setQuota(world.deps, project, { FPGA: 20 }),
    ]);
    const quota = await world.deps.store.quotas.byProject(project);
    expect((quota?.limits.FPGA ?? 0) - (quota?.unitsLeft.FPGA ?? 0)).toBe(3);
  });

  it('of each project is listed in the order of the project ids', async () => {
    const projects = [randomUUID(), randomUUID()].sort() as [string, string];
    for (const each of projects) await setQuota(world.deps, each, { FPGA: 1 });
    const all = await world.deps.listings.quotas({ limit: 1000 });
    const ids = all.map(({ projectId }) => projectId);
    expect(ids).toEqual([...ids].sort());
    expect(ids).toEqual(expect.arrayContaining(projects));
    const [next] = await world.deps.listings.quotas({ limit: 1, marker: projects[0] });
    expect(next?.projectId).toBe(ids[ids.indexOf(projects[0]) + 1]);
  });
});
