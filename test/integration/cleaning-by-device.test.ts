// An instance with a vGPU on each of two cards leaves both to be cleaned up by one job. If the
// second card does not come back, the first card's handle must not wait for it.

import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Device } from '#core/domain/device/device.ts';
import { workIncident } from '#core/domain/history/work-incidents.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import type { HostRelease } from '#core/domain/host-work/host-work.ts';
import { providerUuid, type ReleaseId } from '#core/domain/ids.ts';
import { noteSuccess, retryAfterReturn } from '#core/operations/release/quarantine.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { endTurn, takeTurn } from '#core/operations/work-ends/cleaning-turns.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { readIncidents } from '#functions/operator/incidents/incident-reads.ts';
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

describe('hosts of one failure domain', () => {
  let racks = 11;
  let rack = '';
  let nowMs = Date.now();
  const deps = () => ({ ...cmp1.deps, clock: () => nowMs });
  const failed = { operation: 'failed', statusDetails: { reason: 'EIO' } } as const;

  /** Whether the next run of the sweep asks the host again. */
  async function isAskedAgain(): Promise<boolean> {
    nowMs += minutes;
    const before = await releaseOn(provider);
    await sweep(deps());
    return (await releaseOn(provider)) !== before;
  }

  async function endJob(end: Partial<typeof failed>): Promise<void> {
    await startRelease(deps(), (await releaseOn(provider)) as string);
    for (const jobId of [...cmp1.jobs.keys()]) {
      cmp1.jobs.delete(jobId);
      await finishJob(deps(), aJobEnd(jobId, end));
    }
  }

  const another = (hostname: string) => ({ hostname, failureDomain: rack }) as StoredHost;

  function attemptOf(hostname: string) {
    const at = new Date(nowMs).toISOString();
    const id = randomUUID() as ReleaseId;
    const again = { startedAt: at, leftAt: at, quarantine: 'EIO', retries: 1 };
    return { kind: 'release', id, hostname, handles: [], ...again } as const;
  }

  async function start(hostname: string, count: number) {
    const attempts = Array.from({ length: count }, () => attemptOf(hostname));
    for (const each of attempts)
      expect(await takeTurn(deps(), another(hostname), [each])).toBe(true);
    return attempts;
  }

  async function fail(hostname: string): Promise<void> {
    const end = { ...failed, jobId: 'any' };
    await endTurn(deps(), another(hostname), attemptOf(hostname), end);
  }

  const incidents = async () => {
    const entries = await readIncidents['cleanings-paused'](deps(), undefined, 10);
    return entries.flatMap(({ marker, row }) => (marker === rack && row ? [row] : []));
  };

  beforeEach(async () => {
    nowMs = Date.now() + minutes;
    racks += 1;
    rack = `rack-${racks}`;
    await cmp1.report([gpu], { failure_domain: rack });
    await cmp1.releasing();
    await cmp1.end('release', 'failed', { reason: 'EIO' });
  });

  it('are asked eight at once, and half of them of one host', async () => {
    const [, , , last] = await start('cmp2', 4);
    expect(await takeTurn(deps(), another('cmp2'), [attemptOf('cmp2')])).toBe(false);
    await start('cmp3', 4);
    expect(await isAskedAgain()).toBe(false);
    await endTurn(deps(), another('cmp2'), last as HostRelease);
    expect(await isAskedAgain()).toBe(true);
  });

  it('are asked again once a lost job cannot run any more', async () => {
    await start('cmp2', 4);
    await start('cmp3', 4);
    for (let minute = 1; minute < 10; minute += 1) expect(await isAskedAgain()).toBe(false);
    expect(await isAskedAgain()).toBe(true);
  });

  it('wait an hour after three of them failed, and then try one at a time', async () => {
    await fail('cmp2');
    await fail('cmp3');
    expect(await incidents()).toEqual([]);
    expect(await isAskedAgain()).toBe(true);
    await endJob(failed);
    const [incident] = await incidents();
    expect(incident?.hostname).toBe('cmp1');
    expect(incident?.reason).toContain(
      `The last cleanings of 3 hosts of the failure domain ${rack} failed: cmp1, cmp3, cmp2.`,
    );
    for (let minute = 1; minute < 60; minute += 6) {
      expect(await isAskedAgain()).toBe(false);
      nowMs += 5 * minutes;
    }
    await start('cmp3', 1);
    expect(await isAskedAgain()).toBe(false);
    expect((await incidents())[0]?.reason).toContain('asked again one at a time');
    nowMs += 10 * minutes;
    await fail('cmp3');
    for (let minute = 1; minute < 60; minute += 6) {
      expect(await isAskedAgain()).toBe(false);
      nowMs += 5 * minutes;
    }
    expect(await isAskedAgain()).toBe(true);
    await endJob({});
    expect(await incidents()).toEqual([]);
    expect(await releaseOn(provider)).toBeUndefined();
  });

  it('are not held up by the failures of one host, nor by those of last night', async () => {
    for (let count = 0; count < 4; count += 1) await fail('cmp2');
    expect(await isAskedAgain()).toBe(true);
    await fail('cmp3');
    nowMs += 3 * 60 * minutes;
    await endJob(failed);
    expect(await incidents()).toEqual([]);
  });
});
