// An instance with a vGPU on each of two cards leaves both to be cleaned up by one job. If the
// second card does not come back, the first card's handle must not wait for it.

import { beforeEach, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aJobEnd, instanceOf } from '#test/support/builders.ts';
import { gpu, minutes, provider, startVgpuHost } from '#test/support/hosts/vgpu-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startVgpuHost);

const secondCard = { ...gpu, address: '0000:0f:00.0' };
const secondProvider = providerUuid('cmp1_0000:0f:00.0_fake-1');

beforeEach(() => cmp1.bootAfresh());

async function releaseOn(uuid: typeof provider): Promise<string | undefined> {
  const stored = await cmp1.deps.store.inventory.provider(uuid);
  return stored?.handles.find(({ release }) => release)?.release;
}

async function bindOnBothCards(): Promise<string> {
  const group = { 'resources:VGPU': '1' };
  await cmp1.world.createProfile('pair', group, group);
  const arqs = await cmp1.world.createArqs('pair');
  cmp1.counts.instances += 1;
  const instance = instanceOf(cmp1.counts.instances);
  const target = { hostname: 'cmp1', instance_uuid: instance };
  const patch = Object.fromEntries(
    [provider, secondProvider].map((card, index) => [
      arqs[index],
      bindPatch({ ...target, device_rp_uuid: card }),
    ]),
  );
  const { status } = await cmp1.world.asNova('PATCH', '/v2/accelerator_requests', patch);
  expect(status).toBe(202);
  await cmp1.startBindOf(instance);
  await cmp1.end('bind');
  expect(await cmp1.stateOf(instance)).toBe('Bound');
  return instance;
}

it('frees the handle of a clean card while the other card still fails', async () => {
  await cmp1.report([gpu, secondCard]);
  await cmp1.remove(await bindOnBothCards());
  await cmp1.startReleases();
  await cmp1.end('release', 'failed', { reason: 'EIO' });
  expect(await releaseOn(provider)).toBe(await releaseOn(secondProvider));

  const later = { ...cmp1.deps, clock: () => Date.now() + 2 * minutes };
  await sweep(later);
  const [first, second] = [await releaseOn(provider), await releaseOn(secondProvider)];
  expect(first).not.toBe(second);
  for (const id of [first, second]) await startRelease(later, id as string);
  expect(cmp1.jobs.size).toBe(2);
  for (const [jobId, job] of cmp1.jobs) {
    const isClean = JSON.stringify(job).includes(gpu.address);
    const failed = { operation: 'failed', statusDetails: { reason: 'EIO' } } as const;
    await finishJob(later, aJobEnd(jobId, isClean ? {} : failed));
  }
  expect(await releaseOn(provider)).toBeUndefined();
  expect(await releaseOn(secondProvider)).toBeDefined();
});
