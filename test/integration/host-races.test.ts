// Reboots, releases and job ends in an unlucky order; host-work.test.ts has the lucky one. Each of
// these orders has once lost a device, a bind or a release.

import { beforeEach, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { aJobEnd, bootIdOf, instanceOf } from '#test/support/builders.ts';
import { withStore } from '#test/support/deps.ts';
import { gpu, minutes, provider, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startVgpuHost);

beforeEach(() => cmp1.bootAfresh());

/** Delivers a report of a new boot; the consumer dies before putReport. */
async function bootDying(
  d: ConsumerDeps = cmp1.deps,
  at: () => Promise<void> = async () => {
    throw new Error('killed');
  },
) {
  cmp1.counts.boots += 1;
  cmp1.counts.sequence += 1;
  const dying = withStore(d, {
    inventory: {
      putReport: async (...given) => {
        await at();
        return d.store.inventory.putReport(...given);
      },
    },
  });
  const { boots, sequence } = cmp1.counts;
  const report = aReport([gpu], { boot_id: bootIdOf(boots), sequence });
  const receivedAt = Date.now() + cmp1.counts.boots;
  await applySettled(dying, 'cmp1', report, receivedAt).catch(() => {});
  await cmp1.reprovisionAll(d);
  return () => applyReport(cmp1.deps, 'cmp1', report, receivedAt);
}

it('a repeated report of a boot does not undo what its job has made', async () => {
  const { instance } = await cmp1.bound();
  const again = await bootDying();
  expect(await cmp1.stateOf(instance)).toBe('provisioning');
  await cmp1.end('reprovision');
  expect(await cmp1.stateOf(instance)).toBe('Bound');
  await again();
  await sweep({ ...cmp1.deps, clock: () => Date.now() + 600 * minutes });
  expect(await cmp1.stateOf(instance)).toBe('Bound');
});

it.each([
  ['rejected', 'takes nothing from an instance'],
  ['succeeded', 'binds nothing'],
] as const)('a job of an earlier boot that %s %s', async (operation, _effect) => {
  const { instance } = await cmp1.bound();
  await cmp1.boot();
  const [old = ''] = [...cmp1.jobs.keys()];
  await cmp1.boot();
  const statusDetails = { reason: 'The document is for another boot of this host.' };
  await finishJob(cmp1.deps, aJobEnd(old, { operation, statusDetails }));
  expect(await cmp1.stateOf(instance)).toBe('provisioning');
});

it("a success under another boot than the host's is ignored", async () => {
  const { instance } = await cmp1.started();
  await cmp1.boot();
  await cmp1.end('bind');
  expect(await cmp1.stateOf(instance)).not.toBe('Bound');
});

it('a device that is missing from one report stays in quarantine', async () => {
  await cmp1.releasing();
  await cmp1.end('release', 'failed', { reason: 'EBUSY' });
  expect((await cmp1.handles()).filter((h) => h.quarantine)).toHaveLength(1);
  await cmp1.report([]);
  await cmp1.report([gpu]);
  const now = await cmp1.handles();
  expect(now.filter((h) => h.quarantine)).toHaveLength(1);
});

const gpu2 = { ...gpu, address: '0000:0f:00.0' };

it('a card that fails at the reboot affects no other instance', async () => {
  await cmp1.report([gpu, gpu2]);
  const healthy = await cmp1.bound();
  cmp1.counts.instances += 1;
  const i2 = instanceOf(cmp1.counts.instances);
  const secondGpu = providerUuid('cmp1_0000:0f:00.0_fake-1');
  await cmp1.world.createBound('vgpu', { provider: secondGpu, instance: i2 });
  await cmp1.startBindOf(i2);
  await cmp1.end('bind');
  await cmp1.boot(); // without gpu2
  const addresses = [...cmp1.jobs.values()]
    .flatMap((d) => ('steps' in d ? d.steps : []))
    .map((s) => s.address);
  for (const [jobId, d] of cmp1.jobs) {
    const has = 'steps' in d && d.steps.some((s) => s.address === gpu2.address);
    await finishJob(cmp1.deps, aJobEnd(jobId, { operation: has ? 'failed' : 'succeeded' }));
  }
  expect.soft(addresses).not.toContain(gpu2.address);
  expect(await cmp1.stateOf(healthy.instance)).toBe('Bound');
});

async function bindTwo() {
  const { world } = cmp1;
  const arqs = [...(await world.createArqs('vgpu')), ...(await world.createArqs('vgpu'))];
  cmp1.counts.instances += 1;
  const instance = instanceOf(cmp1.counts.instances);
  expect((await cmp1.world.bindArqs(arqs, { provider, instance })).status).toBe(202);
  return { arqs, instance };
}

/** Delivers the success of the job twice; before the first is stored, Nova deletes the ARQ. */
async function finishWhileDeleting(arq: string | undefined): Promise<void> {
  let once = true;
  const racing = withStore(cmp1.deps, {
    bindings: {
      succeed: async (...given) => {
        if (once) {
          once = false;
          await cmp1.world.asNova('DELETE', `/v2/accelerator_requests?arqs=${arq}`);
        }
        return cmp1.deps.store.bindings.succeed(...given);
      },
    },
  });
  const [jobId = ''] = [...cmp1.jobs.keys()];
  const event = aJobEnd(jobId);
  await finishJob(racing, event);
  await finishJob(cmp1.deps, event);
}

it('a success is kept when one of the ARQs is deleted at the same time', async () => {
  const { arqs, instance } = await bindTwo();
  await cmp1.startBindOf(instance);
  await finishWhileDeleting(arqs[0]);
  expect(await cmp1.stateOf(instance)).toBe('Bound');
});

it('a success is kept while the host reprovisions', async () => {
  const { arqs, instance } = await bindTwo();
  await cmp1.startBindOf(instance);
  await cmp1.end('bind');
  await cmp1.boot();
  await finishWhileDeleting(arqs[0]);
  await sweep({ ...cmp1.deps, clock: () => Date.now() + 600 * minutes });
  expect(await cmp1.stateOf(instance)).toBe('Bound');
});

it('a repeated report of a reboot confirms no release that began after it', async () => {
  const { instance } = await cmp1.bound();
  const again = await bootDying();
  await cmp1.end('reprovision'); // the mdev is there again
  await cmp1.remove(instance);
  expect((await cmp1.handles()).filter((h) => h.release)).toHaveLength(1);
  await again();
  expect((await cmp1.handles()).filter((h) => h.release)).toHaveLength(1);
});

it('a bind that waited behind a release is prepared for the new boot', async () => {
  const a = await cmp1.bound();
  await cmp1.bound();
  await cmp1.bound();
  await cmp1.remove(a.instance);
  const waiting = await cmp1.bind();
  expect(waiting.status).toBe(202);
  await expect(cmp1.startBindOf(waiting.instance)).rejects.toMatchObject({ name: 'RetryLater' });
  await cmp1.boot();
  // The release is asked for again, under the new boot, and the bind waits behind it.
  await expect(cmp1.startBindOf(waiting.instance)).rejects.toMatchObject({ name: 'RetryLater' });
  await cmp1.startReleases({ ...cmp1.deps, clock: () => Date.now() + minutes });
  await cmp1.end('release');
  await cmp1.startBindOf(waiting.instance);
  const { host } = await cmp1.deps.store.inventory.host('cmp1');
  const prepare = [...cmp1.jobs.values()].find((d) => d.action === 'prepare');
  expect(prepare?.boot_id).toBe(host.bootId);
});

it('a release that begins with the reboot is sent to the new boot', async () => {
  const { instance } = await cmp1.bound();
  await bootDying(cmp1.deps, async () => {
    await cmp1.remove(instance);
    await cmp1.startReleases({ ...cmp1.deps, clock: () => Date.now() + minutes });
  });
  const { host } = await cmp1.deps.store.inventory.host('cmp1');
  const free = [...cmp1.jobs.values()].find((d) => d.action === 'release');
  expect(free?.boot_id).toBe(host.bootId);
});

it('the rest of a binding is reprovisioned while a part of it is deleted', async () => {
  const { arqs, instance } = await bindTwo();
  await cmp1.startBindOf(instance);
  await cmp1.end('bind');
  const racing = withStore(cmp1.deps, {
    bindings: {
      provision: async (...given) => {
        await cmp1.world.asNova('DELETE', `/v2/accelerator_requests?arqs=${arqs[0]}`);
        return cmp1.deps.store.bindings.provision(...given);
      },
    },
  });
  await cmp1.boot(racing);
  expect(await cmp1.stateOf(instance)).toBe('provisioning');
});

const long = 'a'.repeat(1500);
const manyArqs = Array.from({ length: 150 }, (_, index) => instanceOf(index)).join(',');

it.each<[request: string, body?: object]>([
  [`GET /v2/devices/${long}`],
  [`GET /v2/deployables/${long}`],
  ['POST /v2/accelerator_requests', { device_profile_name: `${long}${long}` }],
  ['POST /v2/accelerator_requests', { device_profile_name: '' }],
  [`POST /v2/devices/${long}/force_release`, {}],
  [`DELETE /v2/device_profiles?name=${long}${long}`],
  [`DELETE /v2/device_profiles/${long}${long}`],
  [`GET /v2/device_profiles?name=${long}${long}`],
  ['DELETE /v2/device_profiles/,'],
  [`DELETE /v2/accelerator_requests?arqs=${manyArqs}`],
  ['GET /v2/devices?hostname='],
  ['GET /v2/devices?type=&vendor='],
])('answers %.60s with less than 500', async (request, body) => {
  const [method = '', path = ''] = request.split(' ');
  const { status } = await cmp1.world.ask(method, path, { body, microversion: 'accelerator 2.2' });
  expect(status).toBeLessThan(500);
});
