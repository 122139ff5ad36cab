// Handles that a host's passing fault takes away come back by themselves, and a host that keeps failing
// takes no more of them.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { sweep } from '#core/operations/sweep.ts';
import { aReport } from '#test/support/reports.ts';
import {
  bind,
  bootAfresh,
  bound,
  counts,
  deps,
  end,
  gpu,
  handles,
  jobs,
  minutes,
  remove,
  setClockAhead,
  startBindOf,
  startReleases,
  startVgpuHost,
  stateOf,
  world,
} from '#test/support/vgpu-host.ts';

beforeAll(startVgpuHost);
afterAll(() => world.stop());
beforeEach(bootAfresh);

const quarantined = async () => (await handles()).filter(({ quarantine }) => quarantine);
const waiting = async () => (await handles()).filter(({ release }) => release);
const inMinutes = (count: number) => ({ ...deps, clock: () => Date.now() + count * minutes });

/** Its cleaning has just failed. */
async function leftInQuarantine(count: number) {
  const made = [];
  for (let each = 0; each < count; each++) made.push(await bound());
  for (const { instance } of made) await remove(instance);
  await startReleases();
  await end('release', 'failed', { reason: 'ENOSPC' });
  expect(await quarantined()).toHaveLength(count);
}

async function failBinds(count: number) {
  for (let each = 0; each < count; each++) {
    const { instance, status } = await bind();

    expect(status).toBe(202);
    await startBindOf(instance);
    await end('bind', 'failed', { reason: 'ENOSPC', left: 'nothing' });
    await remove(instance);
  }
}

async function report(given: object = {}) {
  const { host } = await deps.store.inventory.host('cmp1');
  counts.sequence += 1;
  const from = { boot_id: host.bootId as string, sequence: counts.sequence, ...given };
  // A clock in the future, as if the failure were some minutes old.
  await applyReport(inMinutes(2), 'cmp1', aReport([gpu], from), Date.now());
}

describe('a failed bind', () => {
  it('frees its handle at once where the host has looked and nothing was made', async () => {
    const { instance } = await bind();
    await startBindOf(instance);
    await end('bind', 'failed', { reason: 'ENOSPC', left: 'nothing' });
    expect(await stateOf(instance)).toBe(409);
    expect((await handles()).filter(({ claim, release }) => claim || release)).toEqual([]);
  });

  it.each([
    ['failed', {}],
    ['timed_out', { left: 'nothing' }],
  ] as const)('that %s with %j is cleaned up first', async (operation, details) => {
    const { instance } = await bind();
    await startBindOf(instance);
    await end('bind', operation, { reason: 'ENOSPC', ...details });
    expect(await waiting()).toHaveLength(1);
  });
});

describe('a handle in quarantine', () => {
  it('is cleaned up again by the sweep, and is free when that succeeds', async () => {
    await leftInQuarantine(1);
    await sweep(deps);
    await startReleases();
    expect([...jobs.keys()].filter((id) => id.includes('-release-'))).toEqual([]);
    await sweep(inMinutes(1.1));
    await startReleases();
    expect([...jobs.values()]).toMatchObject([
      { action: 'release', steps: [{ kind: 'remove-mdev' }] },
    ]);
    expect(await quarantined()).toHaveLength(1);
    await end('release');
    expect(await waiting()).toEqual([]);
    expect(await stateOf((await bound()).instance)).toBe('Bound');
  });

  it('is cleaned up again at growing distances while that fails', async () => {
    await leftInQuarantine(1);
    const attempts: number[] = [];
    for (let minute = 1; minute <= 64; minute++) {
      setClockAhead(minute);
      await sweep(deps);
      await startReleases();
      if (jobs.size === 0) continue;
      attempts.push(minute);
      await end('release', 'failed', { reason: 'ENOSPC' });
    }
    expect(attempts.length).toBeGreaterThan(5);
    expect(attempts.length).toBeLessThan(9);
    setClockAhead(80);
    await sweep(deps);
    await startReleases();
    await end('release');
    expect(await waiting()).toEqual([]);
  });

  it('is not asked for twice while its host has the job', async () => {
    await leftInQuarantine(1);
    const queued = {
      ...deps.clients.jobs,
      executionStatus: async () => 'QUEUED',
    };
    await sweep({ ...inMinutes(2), clients: { ...deps.clients, jobs: queued } });
    await startReleases();
    expect(jobs.size).toBe(0);
  });

  it('is tried first, as one of all, after a report that all drivers can look', async () => {
    await leftInQuarantine(3);
    // Far from due by themselves.
    for (const { release = '' } of await quarantined()) {
      const row = await deps.store.releases.awaited(release);
      if (row)
        await deps.store.releases.postpone(row, new Date(Date.now() + 60 * minutes).toISOString());
    }
    await report({ failed_drivers: ['fake-gpu'] });
    await sweep(inMinutes(3));
    await startReleases();
    expect(jobs.size).toBe(0);
    await report();
    await sweep(inMinutes(3));
    await startReleases();
    expect(jobs.size).toBe(1);
    setClockAhead(3);
    await end('release');
    await sweep(inMinutes(4));
    await startReleases();
    expect(jobs.size).toBe(2);
    await end('release');
    expect(await waiting()).toEqual([]);
  });
});

describe('a host that fails one job after another', () => {
  it('takes no bind that it must prepare, and loses no handle by it', async () => {
    await failBinds(3);
    expect(await bind()).toMatchObject({
      status: 409,
      error: expect.stringMatching(/Host cmp1 has failed its last 3 jobs .*ENOSPC.* until /),
    });
    expect((await handles()).filter(({ claim, release }) => claim || release)).toEqual([]);
  });

  it('is given another bind when its pause is over', async () => {
    await failBinds(3);
    const { host } = await deps.store.inventory.host('cmp1');
    const before = new Date(Date.now() - 2 * minutes).toISOString();
    await deps.store.inventory.noteFailure(host, { count: 0, lastAt: before, reason: 'ENOSPC' });
    expect(await stateOf((await bound()).instance)).toBe('Bound');
    await failBinds(2);
    expect((await bind()).status).toBe(202);
  });

  it('takes binds again as soon as it has cleaned up what was in quarantine', async () => {
    await leftInQuarantine(1);
    await failBinds(2);
    expect((await bind()).status).toBe(409);
    setClockAhead(3);
    await sweep(deps);
    await startReleases();
    await end('release');
    expect((await bind()).status).toBe(202);
  });

  it('is not paused for what its jobs asked of it', async () => {
    for (let each = 0; each < 4; each++) {
      const { instance, status } = await bind();

      expect(status).toBe(202);
      await startBindOf(instance);
      const reason = 'The image is for another interface.';
      await end('bind', 'failed', { reason, fault: 'request', left: 'nothing' });
      await remove(instance);
    }
  });
});
