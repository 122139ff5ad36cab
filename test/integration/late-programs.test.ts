// An operator has a region programmed: no bind gets the region before its host is done with it.

import { beforeEach, expect, it } from 'vitest';
import { ImageUnusable } from '#core/clients/openstack/glance.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { createArqs } from '#core/operations/bind/create-arqs.ts';
import { programDeployable } from '#core/operations/program/program-deployable.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { aCaller, anInstanceUuid } from '#test/support/builders.ts';
import { withClients, withStore } from '#test/support/deps.ts';
import { aGbs } from '#test/support/hosts/gbs.ts';
import { region, startFpgaHost } from '#test/support/hosts/recorded/fpga-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startFpgaHost);

const minuteMs = 60_000;
const instanceUuid = anInstanceUuid;
const nova = aCaller();

beforeEach(() => cmp1.bootAfresh());

/** Sends an operator's request to program the region. */
async function program(): Promise<void> {
  const image = await cmp1.anImage({}, aGbs());
  const uuid = (await cmp1.deps.store.inventory.provider(region))?.deployable.uuid;
  const { status } = await cmp1.world.ask('PATCH', `/v2/deployables/${uuid}/program`, {
    token: 'admin-token',
    body: [{ path: '/program', op: 'replace', value: [{ image_uuid: image }] }],
  });
  expect(status).toBe(200);
}

/** Binds an instance that takes the region with any image. */
async function bindAsItIs(): Promise<unknown> {
  const { instance } = await cmp1.bind({});
  await cmp1.startBindOf(instance).catch(() => {});
  return cmp1.stateOf(instance);
}

it('a region is not bound after a job whose end the host has not reported', async () => {
  await program();
  for (const id of await cmp1.releases()) await cmp1.startAwaited(cmp1.deps, id);
  // The host may still be programming.
  await cmp1.end('timed_out');
  expect(await bindAsItIs()).not.toBe('Bound');
});

it('a region is not programmed after another instance had it while the image was fetched', async () => {
  await program();
  const [id = ''] = await cmp1.releases();
  let state: unknown;
  const { staging } = cmp1.deps.clients;
  const slow: typeof staging.stage = async (image) => {
    const gone = await cmp1.bind({}, 2);
    await cmp1.remove(gone.instance);
    for (const each of await cmp1.releases())
      if (each !== id) await cmp1.startAwaited(cmp1.deps, each);
    await cmp1.end('succeeded');
    state = await bindAsItIs();
    return staging.stage(image);
  };
  await cmp1.startAwaited(withClients(cmp1.deps, { staging: { stage: slow } }), id);
  expect(state).toBe('Bound');
  expect([...cmp1.jobs.values()].map(({ action }) => action)).toEqual(['release']);
  expect(await cmp1.releases()).toEqual([]);
});

it('a region is not bound when the message is repeated after its image was deleted', async () => {
  await program();
  const [id = ''] = await cmp1.releases();
  await cmp1.startAwaited(cmp1.deps, id);
  const findImage = () => Promise.reject(new ImageUnusable('It was deleted.'));
  await cmp1.startAwaited(withClients(cmp1.deps, { glance: { findImage } }), id);
  expect([await cmp1.releases(), cmp1.jobs.size]).toEqual([[id], 1]);
});

it('a bind that read the region as free waits for the program', async () => {
  await cmp1.boot({}, { isShared: false });
  await cmp1.world.createProfile('as-it-is', { 'resources:FPGA': '1' });
  const [arq] = await createArqs(cmp1.deps, nova, 'as-it-is');
  if (!arq) throw new Error('The profile makes one ARQ.');
  const target = { arqUuid: arq.uuid, hostname: 'cmp1', providerUuid: region, instanceUuid };
  const { store } = cmp1.deps;
  const claim: typeof store.bindings.claim = async (...given) => {
    if ((await cmp1.releases()).length === 0) await program();
    return store.bindings.claim(...given);
  };
  await bindArqs(withStore(cmp1.deps, { bindings: { claim } }), nova, [target]);
  expect(await cmp1.listedForNova(instanceUuid)).toBe('BindStarted');
  // Its delete leaves the region to the release of the bind, and none to the program.
  const [id = ''] = await cmp1.releases();
  await cmp1.remove(instanceUuid);
  await cmp1.startAwaited(cmp1.deps, id);
  expect([cmp1.jobs.size, await cmp1.deps.store.releases.awaited(id)]).toEqual([0, undefined]);
});

it('a region is not bound before the job that its host has not started is cancelled', async () => {
  await program();
  const [id = ''] = await cmp1.releases();
  await cmp1.startAwaited(cmp1.deps, id);
  const cancelled: string[] = [];
  const cancel = async (job: string) => void cancelled.push(job);
  const noted = withClients(cmp1.deps, { jobs: { cancel } });
  await sweep({ ...noted, clock: () => Date.now() + 25 * minuteMs });
  expect(cancelled).toEqual([...cmp1.jobs.keys()]);
  // The host is not asked again when the image arrives at last.
  cmp1.jobs.clear();
  await cmp1.startAwaited(cmp1.deps, id);
  expect(cmp1.jobs.size).toBe(0);
});

it('a region is free when the reboot came before the request was stored', async () => {
  const uuid = (await cmp1.deps.store.inventory.provider(region))?.deployable.uuid ?? '';
  const image = await cmp1.anImage({}, aGbs());
  // The request bears the time at which it began.
  const early = { ...cmp1.deps, clock: () => Date.now() - minuteMs };
  await programDeployable(early, aCaller({ roles: ['admin'] }), uuid, image);
  for (const id of await cmp1.releases()) await cmp1.startAwaited(cmp1.deps, id);
  expect([await cmp1.releases(), cmp1.jobs.size]).toEqual([[], 0]);
});
