// An instance with a vGPU on each of two cards leaves both to be cleaned up by one job. If the
// second card does not come back, the first card's handle must not wait for it.

import { beforeEach, describe, expect, it } from 'vitest';
import type { Device } from '#core/domain/device/device.ts';
import { workIncident } from '#core/domain/history/incidents.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { noteSuccess, retryAfterReturn } from '#core/operations/release/quarantine.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { retryCleaning } from '#core/operations/work-ends/retry-cleaning.ts';
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

describe('a card that no cleaning brings back', () => {
  let nowMs = Date.now();
  const deps = () => ({ ...cmp1.deps, clock: () => nowMs });
  const failure = { operation: 'failed', statusDetails: { reason: 'EIO' } } as const;

  /** Runs the sweep for `count` minutes, every `every` minutes; the host fails each job. */
  async function attemptsIn(count: number, every = 1): Promise<number> {
    let attempts = 0;
    for (const endMs = nowMs + count * minutes; nowMs < endMs; nowMs += every * minutes) {
      await sweep(deps());
      const id = (await releaseOn(provider)) as string;
      await startRelease(deps(), id);
      for (const jobId of [...cmp1.jobs.keys()]) {
        cmp1.jobs.delete(jobId);
        attempts += 1;
        await finishJob(deps(), aJobEnd(jobId, failure));
      }
    }
    return attempts;
  }

  const awaited = async () => {
    const work = await cmp1.deps.store.releases.awaited((await releaseOn(provider)) as string);
    if (!work) throw new Error('No handle waits.');
    return work;
  };

  beforeEach(async () => {
    nowMs = Date.now();
    await cmp1.report([gpu]);
    await cmp1.releasing();
    await cmp1.end('release', 'failed', { reason: 'EIO' });
  });

  it('is asked twelve times in two hours, and then once a day', async () => {
    expect(await attemptsIn(60)).toBe(6);
    expect(workIncident(await awaited(), undefined, 0, nowMs)?.nextStep).toMatch(/by itself/);
    expect(await attemptsIn(120, 5)).toBe(6);
    expect(await attemptsIn(12 * 60, 60)).toBe(0);
    const [{ uuid }] = (await cmp1.deps.store.inventory.host('cmp1')).devices as [Device];
    const incident = workIncident(await awaited(), uuid, 0, nowMs);
    expect(incident?.reason).toBe('1 attach handles after 13 failed cleanings: EIO');
    expect(incident?.nextStep).toContain('cyborg-ops hosts drain cmp1 --reason reboot');
    expect(incident?.nextStep).toContain(`cyborg-ops devices force-release ${uuid} --reason`);
    expect(await attemptsIn(13 * 60, 60)).toBe(1);
  });

  it('is asked again an hour later at a sign that its host works, or when it has returned', async () => {
    const inventory = () => cmp1.deps.store.inventory.host('cmp1');
    const success = async () => {
      await noteSuccess(deps(), await inventory());
      return await attemptsIn(2);
    };
    expect(await attemptsIn(13 * 16, 16)).toBe(12);
    expect(await success()).toBe(0);
    nowMs += 60 * minutes;
    expect([await success(), await success()]).toEqual([1, 0]);
    await retryAfterReturn(deps(), (await inventory()).devices);
    expect(await attemptsIn(2)).toBe(1);
  });
});

it('waits for its turn among the hosts of its failure domain', async () => {
  await cmp1.report([gpu], { failure_domain: 'rack-12' });
  await cmp1.releasing();
  await cmp1.end('release', 'failed', { reason: 'EIO' });
  const later = { ...cmp1.deps, clock: () => Date.now() + 2 * minutes };
  const attempt = async (made: Record<string, number>) => {
    const before = await releaseOn(provider);
    const work = await later.store.releases.awaited(before as string);
    if (work)
      await retryCleaning(
        later,
        { ...work, retryAt: work.startedAt },
        new Map(Object.entries(made)),
      );
    return (await releaseOn(provider)) !== before;
  };
  expect(await attempt({ 'domain rack-12': 8 })).toBe(false);
  expect(await attempt({ 'host cmp1': 4 })).toBe(false);
  expect(await attempt({ 'domain rack-13': 8, 'domain rack-12': 7 })).toBe(true);
});
