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
import {
  anImage,
  bind,
  boot,
  bootAfresh,
  deps,
  end,
  jobs,
  region,
  releases,
  remove,
  startAwaited,
  startBindOf,
  startFpgaHost,
  stateOf,
  world,
} from '#test/support/fpga-host.ts';
import { aGbs } from '#test/support/gbs.ts';

const minuteMs = 60_000;
const instanceUuid = anInstanceUuid;
const nova = aCaller();

beforeAll(startFpgaHost);
afterAll(() => world.stop());
beforeEach(bootAfresh);

/** An operator's request. */
async function program(): Promise<void> {
  const image = await anImage({}, aGbs());
  const uuid = (await deps.store.inventory.provider(region))?.deployable.uuid;
  const { status } = await world.ask('PATCH', `/v2/deployables/${uuid}/program`, {
    token: 'admin-token',
    body: [{ path: '/program', op: 'replace', value: [{ image_uuid: image }] }],
  });
  expect(status).toBe(200);
}

/** Somebody for whom the region is good as it is. */
async function bindAsItIs(): Promise<unknown> {
  const { instance } = await bind({});
  await startBindOf(instance).catch(() => {});
  return stateOf(instance);
}

it('nobody gets it after a job of which the host has not told the end', async () => {
  await program();
  for (const id of await releases()) await startAwaited(deps, id);
  // It may be at it still.
  await end('timed_out');
  expect(await bindAsItIs()).not.toBe('Bound');
});

it('it is not programmed where somebody has come and gone while its image was fetched', async () => {
  await program();
  const [id = ''] = await releases();
  let state: unknown;
  const { staging } = deps.clients;
  const slow: ConsumerDeps['clients']['staging'] = {
    ...staging,
    stage: async (image) => {
      const gone = await bind({}, 2);
      await remove(gone.instance);
      for (const each of await releases()) if (each !== id) await startAwaited(deps, each);
      await end('succeeded');
      state = await bindAsItIs();
      return staging.stage(image);
    },
  };
  await startAwaited({ ...deps, clients: { ...deps.clients, staging: slow } }, id);
  expect(state).toBe('Bound');
  expect([...jobs.values()].map(({ action }) => action)).toEqual(['release']);
  expect(await releases()).toEqual([]);
});

it('nobody gets it because the message comes again when its image is gone', async () => {
  await program();
  const [id = ''] = await releases();
  await startAwaited(deps, id);
  const glance: ConsumerDeps['clients']['glance'] = {
    ...deps.clients.glance,
    findImage: () => Promise.reject(new ImageUnusable('It was deleted.')),
  };
  await startAwaited({ ...deps, clients: { ...deps.clients, glance } }, id);
  expect([await releases(), jobs.size]).toEqual([[id], 1]);
});

it('nobody gets it who has seen it free before', async () => {
  await boot({}, { isShared: false });
  await world.ask('POST', '/v2/device_profiles', {
    body: [{ name: 'as-it-is', groups: [{ 'resources:FPGA': '1' }] }],
  });
  const [arq] = await createArqs(deps, nova, 'as-it-is');
  if (!arq) throw new Error('The profile makes one ARQ.');
  const target = { arqUuid: arq.uuid, hostname: 'cmp1', providerUuid: region, instanceUuid };
  const { store } = deps;
  const claim: typeof store.bindings.claim = async (...given) => {
    if ((await releases()).length === 0) await program();
    return store.bindings.claim(...given);
  };
  const late = { ...deps, store: { ...store, bindings: { ...store.bindings, claim } } };
  await bindArqs(late, nova, [target]);
  expect(await stateOf(instanceUuid)).toBe('BindStarted');
  // Gone again, it leaves the region to its own release, and none to the program.
  const [id = ''] = await releases();
  await remove(instanceUuid);
  await startAwaited(deps, id);
  expect([jobs.size, await deps.store.releases.awaited(id)]).toEqual([0, undefined]);
});

it('nobody gets it before a job that its host has not begun is cancelled', async () => {
  await program();
  const [id = ''] = await releases();
  await startAwaited(deps, id);
  const cancelled: string[] = [];
  const given = { ...deps.clients.jobs, cancel: async (job: string) => void cancelled.push(job) };
  await sweep({
    ...deps,
    clients: { ...deps.clients, jobs: given },
    clock: () => Date.now() + 25 * minuteMs,
  });
  expect(cancelled).toEqual([...jobs.keys()]);
  // Nor is it asked again when its image has come at last.
  jobs.clear();
  await startAwaited(deps, id);
  expect(jobs.size).toBe(0);
});

it('it is free where the boot came before the request was stored', async () => {
  const uuid = (await deps.store.inventory.provider(region))?.deployable.uuid ?? '';
  const image = await anImage({}, aGbs());
  // Its time is that of its beginning.
  const early = { ...deps, clock: () => Date.now() - minuteMs };
  await programDeployable(early, aCaller({ roles: ['admin'] }), uuid, image);
  for (const id of await releases()) await startAwaited(deps, id);
  expect([await releases(), jobs.size]).toEqual([[], 0]);
});
