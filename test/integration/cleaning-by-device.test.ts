// An instance with a vGPU on each of two cards leaves both to be cleaned up by one job. If the
// second card does not come back, the first card's handle must not wait for it.

import { beforeEach, describe, expect, it } from 'vitest';
import type { Device } from '#core/domain/device/device.ts';
import { workIncident } from '#core/domain/history/work-incidents.ts';
import { noteSuccess, retryAfterReturn } from '#core/operations/release/quarantine.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { aJobEnd } from '#test/support/builders.ts';
import {
  bindOnBothCards,
  gpu,
  minutes,
  provider,
  releaseOn,
  secondCard,
  secondProvider,
  startVgpuHost,
} from '#test/support/hosts/recorded/vgpu-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startVgpuHost);

beforeEach(() => cmp1.bootAfresh());

it('frees the handle of a clean card while the other card still fails', async () => {
  await cmp1.report([gpu, secondCard]);
  await cmp1.remove(await bindOnBothCards(cmp1));
  await cmp1.startReleases();
  await cmp1.end('release', 'failed', { reason: 'EIO' });
  expect(await releaseOn(cmp1, provider)).toBe(await releaseOn(cmp1, secondProvider));

  const later = { ...cmp1.deps, clock: () => Date.now() + 2 * minutes };
  await sweep(later);
  const [first, second] = [await releaseOn(cmp1, provider), await releaseOn(cmp1, secondProvider)];
  expect(first).not.toBe(second);
  for (const id of [first, second]) await startRelease(later, id as string);
  expect(cmp1.jobs.size).toBe(2);
  for (const [jobId, job] of cmp1.jobs) {
    const isClean = JSON.stringify(job).includes(gpu.address);
    const failed = { operation: 'failed', statusDetails: { reason: 'EIO' } } as const;
    await finishJob(later, aJobEnd(jobId, isClean ? {} : failed));
  }
  expect(await releaseOn(cmp1, provider)).toBeUndefined();
  expect(await releaseOn(cmp1, secondProvider)).toBeDefined();
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
      const id = (await releaseOn(cmp1, provider)) as string;
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
    const work = await cmp1.deps.store.releases.awaited(
      (await releaseOn(cmp1, provider)) as string,
    );
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
