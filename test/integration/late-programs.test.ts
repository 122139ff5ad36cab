// What an operator has a region programmed with, and who gets the region before its host has done with it:
// nobody.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ImageUnusable } from '#core/clients/glance.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { programDeployable } from '#core/operations/program/program-deployable.ts';
import { sweep } from '#core/operations/sweep.ts';
import { aCaller, anInstanceUuid } from '#test/support/builders.ts';
import { type FpgaHost, region, startFpgaHost } from '#test/support/fpga-host.ts';
import { aGbs } from '#test/support/gbs.ts';

let cmp1: FpgaHost;

const minuteMs = 60_000;
const instanceUuid = anInstanceUuid;
const nova = aCaller();

beforeAll(async () => {
  cmp1 = await startFpgaHost();
});
afterAll(() => cmp1.world.stop());
beforeEach(() => cmp1.bootAfresh());

/** An operator's request. */
async function program(): Promise<void> {
  const image = await cmp1.anImage({}, aGbs());
  const uuid = (await cmp1.deps.store.inventory.provider(region))?.deployable.uuid;
  const { status } = await cmp1.world.ask('PATCH', `/v2/deployables/${uuid}/program`, {
    token: 'admin-token',
    body: [{ path: '/program', op: 'replace', value: [{ image_uuid: image }] }],
  });
  expect(status).toBe(200);
}

/** Somebody for whom the region is good as it is. */
async function bindAsItIs(): Promise<unknown> {
  const { instance } = await cmp1.bind({});
  await cmp1.startBindOf(instance).catch(() => {});
  return cmp1.stateOf(instance);
}

it('nobody gets it after a job of which the host has not told the end', async () => {
  await program();
  for (const id of await cmp1.releases()) await cmp1.startAwaited(cmp1.deps, id);
  // It may be at it still.
  await cmp1.end('timed_out');
  expect(await bindAsItIs()).not.toBe('Bound');
});

it('it is not programmed where somebody has come and gone while its image was fetched', async () => {
  await program();
  const [id = ''] = await cmp1.releases();
  let state: unknown;
  const { staging } = cmp1.deps.clients;
  const slow: ConsumerDeps['clients']['staging'] = {
    ...staging,
    stage: async (image) => {
      const gone = await cmp1.bind({}, 2);
      await cmp1.remove(gone.instance);
      for (const each of await cmp1.releases())
        if (each !== id) await cmp1.startAwaited(cmp1.deps, each);
      await cmp1.end('succeeded');
      state = await bindAsItIs();
      return staging.stage(image);
    },
  };
  await cmp1.startAwaited({ ...cmp1.deps, clients: { ...cmp1.deps.clients, staging: slow } }, id);
  expect(state).toBe('Bound');
  expect([...cmp1.jobs.values()].map(({ action }) => action)).toEqual(['release']);
  expect(await cmp1.releases()).toEqual([]);
});

it('nobody gets it because the message comes again when its image is gone', async () => {
  await program();
  const [id = ''] = await cmp1.releases();
  await cmp1.startAwaited(cmp1.deps, id);
  const glance: ConsumerDeps['clients']['glance'] = {
    ...cmp1.deps.clients.glance,
    findImage: () => Promise.reject(new ImageUnusable('It was deleted.')),
  };
  await cmp1.startAwaited({ ...cmp1.deps, clients: { ...cmp1.deps.clients, glance } }, id);
  expect([await cmp1.releases(), cmp1.jobs.size]).toEqual([[id], 1]);
});

it('nobody gets it who has seen it free before', async () => {
  await cmp1.boot({}, { isShared: false });
  await cmp1.world.ask('POST', '/v2/device_profiles', {
    body: [{ name: 'as-it-is', groups: [{ 'resources:FPGA': '1' }] }],
  });
  const [arq] = await createArqs(cmp1.deps, nova, 'as-it-is');
  if (!arq) throw new Error('The profile makes one ARQ.');
  const target = { arqUuid: arq.uuid, hostname: 'cmp1', providerUuid: region, instanceUuid };
  const { store } = cmp1.deps;
  const claim: typeof store.bindings.claim = async (...given) => {
    if ((await cmp1.releases()).length === 0) await program();
    return store.bindings.claim(...given);
  };
  const late = { ...cmp1.deps, store: { ...store, bindings: { ...store.bindings, claim } } };
  await bindArqs(late, nova, [target]);
  expect(await cmp1.stateOf(instanceUuid)).toBe('BindStarted');
  // Gone again, it leaves the region to its own release, and none to the program.
  const [id = ''] = await cmp1.releases();
  await cmp1.remove(instanceUuid);
  await cmp1.startAwaited(cmp1.deps, id);
  expect([cmp1.jobs.size, await cmp1.deps.store.releases.awaited(id)]).toEqual([0, undefined]);
});

it('nobody gets it before a job that its host has not begun is cancelled', async () => {
  await program();
  const [id = ''] = await cmp1.releases();
  await cmp1.startAwaited(cmp1.deps, id);
  const cancelled: string[] = [];
  const given = {
    ...cmp1.deps.clients.jobs,
    cancel: async (job: string) => void cancelled.push(job),
  };
  await sweep({
    ...cmp1.deps,
    clients: { ...cmp1.deps.clients, jobs: given },
    clock: () => Date.now() + 25 * minuteMs,
  });
  expect(cancelled).toEqual([...cmp1.jobs.keys()]);
  // Nor is it asked again when its image has come at last.
  cmp1.jobs.clear();
  await cmp1.startAwaited(cmp1.deps, id);
  expect(cmp1.jobs.size).toBe(0);
});

it('it is free where the boot came before the request was stored', async () => {
  const uuid = (await cmp1.deps.store.inventory.provider(region))?.deployable.uuid ?? '';
  const image = await cmp1.anImage({}, aGbs());
  // Its time is that of its beginning.
  const early = { ...cmp1.deps, clock: () => Date.now() - minuteMs };
  await programDeployable(early, aCaller({ roles: ['admin'] }), uuid, image);
  for (const id of await cmp1.releases()) await cmp1.startAwaited(cmp1.deps, id);
  expect([await cmp1.releases(), cmp1.jobs.size]).toEqual([[], 0]);
});
