// Hosts of one failure domain clean again in turn, and pause after several of them failed.

import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { StoredHost } from '#core/domain/host/host.ts';
import type { HostRelease } from '#core/domain/host-work/host-work.ts';
import type { ReleaseId } from '#core/domain/ids.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { endTurn, takeTurn } from '#core/operations/work-ends/cleaning-turns.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { readIncidents } from '#functions/operator/incidents/incident-reads.ts';
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

describe('hosts of one failure domain', () => {
  let racks = 11;
  let rack = '';
  let nowMs = Date.now();
  const deps = () => ({ ...cmp1.deps, clock: () => nowMs });
  const failed = { operation: 'failed', statusDetails: { reason: 'EIO' } } as const;

  /** Whether the next run of the sweep asks the host again, whose agent is connected. */
  async function isAskedAgain(): Promise<boolean> {
    nowMs += minutes;
    const at = new Date(nowMs).toISOString();
    await cmp1.setPresence({ isConnected: true, version: 1, at });
    const before = await releaseOn(cmp1, provider);
    await sweep(deps());
    return (await releaseOn(cmp1, provider)) !== before;
  }

  async function endJob(end: Partial<typeof failed>): Promise<void> {
    for (const card of [provider, secondProvider]) {
      const id = await releaseOn(cmp1, card);
      if (id) await startRelease(deps(), id);
    }
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
    for (const each of attempts) {
      expect(await takeTurn(deps(), another(hostname), [each])).toBe(true);
    }
    return attempts;
  }

  async function fail(hostname: string): Promise<void> {
    const [attempt] = await start(hostname, 1);
    await end(attempt as HostRelease, failed);
  }

  const end = (attempt: HostRelease, how: Partial<typeof failed>) =>
    endTurn(deps(), another(attempt.hostname), attempt, aJobEnd('any', how));

  const canStart = (hostname: string) => takeTurn(deps(), another(hostname), [attemptOf(hostname)]);

  const incidents = async () => {
    const entries = await readIncidents['cleanings-paused'](deps(), undefined, 10);
    return entries.flatMap(({ marker, row }) => (marker === rack && row ? [row] : []));
  };

  beforeEach(async () => {
    await cmp1.bootAfresh();
    racks += 1;
    rack = `rack-${racks}`;
    nowMs = Date.now() + minutes;
    await cmp1.report([gpu], { failure_domain: rack });
    await cmp1.releasing();
    await cmp1.end('release', 'failed', { reason: 'EIO' });
  });

  it('clean cards together where there is one place, and each alone later', async () => {
    await cmp1.report([gpu, secondCard], { failure_domain: rack });
    await cmp1.confirmReleases();
    await cmp1.remove(await bindOnBothCards(cmp1));
    await cmp1.startReleases();
    await cmp1.end('release', 'failed', { reason: 'EIO' });
    const [one] = [...(await start('cmp2', 4)), ...(await start('cmp3', 3))];
    expect(await isAskedAgain()).toBe(true);
    expect(await releaseOn(cmp1, secondProvider)).toBe(await releaseOn(cmp1, provider));
    await endJob(failed);
    await end(one as HostRelease, failed);
    nowMs += 3 * minutes;
    expect(await isAskedAgain()).toBe(true);
    expect(await releaseOn(cmp1, secondProvider)).not.toBe(await releaseOn(cmp1, provider));
    await endJob({});
    expect(await releaseOn(cmp1, secondProvider)).toBeUndefined();
  });

  it('are asked eight at once, and half of them of one host', async () => {
    const [, , , last] = await start('cmp2', 4);
    expect(await takeTurn(deps(), another('cmp2'), [attemptOf('cmp2')])).toBe(false);
    await start('cmp3', 4);
    expect(await isAskedAgain()).toBe(false);
    await endTurn(deps(), another('cmp2'), last as HostRelease);
    expect(await isAskedAgain()).toBe(true);
  });

  it('are asked as often at once as the setting says', async () => {
    const settings = { ...cmp1.deps.settings, cleaningsAtOnce: 3 };
    const canStartTwo = (hostname: string) =>
      takeTurn({ ...deps(), settings }, another(hostname), [
        attemptOf(hostname),
        attemptOf(hostname),
      ]);
    expect([await canStartTwo('cmp2'), await canStartTwo('cmp3')]).toEqual([true, false]);
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
    await waitWithout(59);
    nowMs += minutes;
    expect((await incidents())[0]?.reason).toContain('asked again one at a time');
    // The host that failed last has its turn after another.
    expect(await isAskedAgain()).toBe(false);
    const [attempt] = await start('cmp3', 1);
    expect(await canStart('cmp2')).toBe(false);
    nowMs += 5 * minutes;
    await end(attempt as HostRelease, failed);
    // The first failures are older than two hours at the end of this pause.
    await waitWithout(59);
    expect((await incidents())[0]?.reason).toContain(`3 hosts of the failure domain ${rack}`);
    nowMs += 10 * minutes;
    expect(await isAskedAgain()).toBe(true);
    await endJob({});
    expect(await incidents()).toEqual([]);
    expect(await releaseOn(cmp1, provider)).toBeUndefined();
  });

  /** No host is asked again for this time. */
  async function waitWithout(count: number): Promise<void> {
    const endMs = nowMs + count * minutes;
    while (nowMs < endMs - 10 * minutes) {
      nowMs += 9 * minutes;
      expect(await isAskedAgain()).toBe(false);
      expect(await canStart('cmp2')).toBe(false);
    }
    nowMs = endMs;
  }

  it('go on after a success of any of them, also in a first cleaning', async () => {
    for (const hostname of ['cmp2', 'cmp3', 'cmp4']) await fail(hostname);
    const { leftAt: _, ...first } = attemptOf('cmp5');
    await end(first, failed);
    expect(await canStart('cmp5')).toBe(false);
    await end(first, {});
    expect(await canStart('cmp5')).toBe(true);
  });

  it('count a failure once, and only of an attempt that had its turn', async () => {
    const [attempt] = await start('cmp2', 1);
    await end(attempt as HostRelease, failed);
    await end({ ...(attempt as HostRelease), hostname: 'cmp3' }, failed);
    await end(attemptOf('cmp4'), failed);
    expect(await incidents()).toEqual([]);
  });

  it('are not held up by the failures of one host, nor by those of last night', async () => {
    for (let count = 0; count < 4; count += 1) await fail('cmp2');
    await fail('cmp3');
    expect(await canStart('cmp4')).toBe(true);
    nowMs += 3 * 60 * minutes;
    await fail('cmp4');
    expect(await incidents()).toEqual([]);
  });

  it('are not asked while they are away', async () => {
    await cmp1.setPresence({ isConnected: false, version: 9, at: new Date().toISOString() });
    nowMs += 5 * minutes;
    const before = await releaseOn(cmp1, provider);
    await sweep(deps());
    expect(await releaseOn(cmp1, provider)).toBe(before);
    nowMs += 5 * minutes;
    expect(await isAskedAgain()).toBe(true);
  });
});
