// Handles that a passing fault of a host takes away return by themselves, and a host that keeps
// failing takes no more of them.

import { beforeEach, describe, expect, it } from 'vitest';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { gpu, minutes, startVgpuHost } from '#test/support/hosts/recorded/vgpu-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startVgpuHost);

beforeEach(() => cmp1.bootAfresh());

const quarantined = async () => (await cmp1.handles()).filter(({ quarantine }) => quarantine);
const waiting = async () => (await cmp1.handles()).filter(({ release }) => release);
const inMinutes = (count: number) => ({ ...cmp1.deps, clock: () => Date.now() + count * minutes });

/** A report of a host whose cleaning has just failed. */
async function leftInQuarantine(count: number) {
  const made = [];
  for (let each = 0; each < count; each++) made.push(await cmp1.bound());
  for (const { instance } of made) await cmp1.remove(instance);
  await cmp1.startReleases();
  await cmp1.end('release', 'failed', { reason: 'ENOSPC' });
  expect(await quarantined()).toHaveLength(count);
}

async function failBinds(count: number) {
  for (let each = 0; each < count; each++) {
    const { instance, status } = await cmp1.bind();

    expect(status).toBe(202);
    await cmp1.startBindOf(instance);
    await cmp1.end('bind', 'failed', { reason: 'ENOSPC', left: 'nothing' });
    await cmp1.remove(instance);
  }
}

/** The clock is ahead, because the failure must be some minutes old. */
const report = (given: object = {}) => cmp1.report([gpu], given, inMinutes(2));

describe('a failed bind', () => {
  it('frees its handle at once when the host reports that nothing was made', async () => {
    const { instance } = await cmp1.started();
    await cmp1.end('bind', 'failed', { reason: 'ENOSPC', left: 'nothing' });
    expect(await cmp1.stateOf(instance)).toBe(409);
    expect((await cmp1.handles()).filter(({ claim, release }) => claim || release)).toEqual([]);
  });

  it.each([
    ['failed', {}],
    ['timed_out', { left: 'nothing' }],
  ] as const)('that %s with %j is cleaned up first', async (operation, details) => {
    await cmp1.started();
    await cmp1.end('bind', operation, { reason: 'ENOSPC', ...details });
    expect(await waiting()).toHaveLength(1);
  });
});

describe('a handle in quarantine', () => {
  it('is cleaned up again by the sweep, and is free when that succeeds', async () => {
    await leftInQuarantine(1);
    await sweep(cmp1.deps);
    await cmp1.startReleases();
    expect([...cmp1.jobs.keys()].filter((id) => id.includes('-release-'))).toEqual([]);
    await sweep(inMinutes(1.1));
    await cmp1.startReleases();
    expect([...cmp1.jobs.values()]).toMatchObject([
      { action: 'release', steps: [{ kind: 'clean' }] },
    ]);
    expect(await quarantined()).toHaveLength(1);
    await cmp1.end('release');
    expect(await waiting()).toEqual([]);
    expect(await cmp1.stateOf((await cmp1.bound()).instance)).toBe('Bound');
  });

  it('is cleaned up again at growing intervals while cleaning fails', async () => {
    await leftInQuarantine(1);
    const attempts: number[] = [];
    for (let minute = 1; minute <= 64; minute++) {
      cmp1.setClockAhead(minute);
      await sweep(cmp1.deps);
      await cmp1.startReleases();
      if (cmp1.jobs.size === 0) continue;
      attempts.push(minute);
      await cmp1.end('release', 'failed', { reason: 'ENOSPC' });
    }
    expect(attempts.length).toBeGreaterThan(5);
    expect(attempts.length).toBeLessThan(9);
    cmp1.setClockAhead(80);
    await sweep(cmp1.deps);
    await cmp1.startReleases();
    await cmp1.end('release');
    expect(await waiting()).toEqual([]);
  });

  it('is not asked for twice while its host has the job', async () => {
    await leftInQuarantine(1);
    const queued = { ...cmp1.deps.clients.jobs, executionStatus: async () => 'QUEUED' };
    await sweep({ ...inMinutes(2), clients: { ...cmp1.deps.clients, jobs: queued } });
    await cmp1.startReleases();
    expect(cmp1.jobs.size).toBe(0);
  });

  it('is due at once when its device is there again', async () => {
    await leftInQuarantine(1);
    await cmp1.report([]);
    await sweep(cmp1.deps);
    await cmp1.startReleases();
    expect(cmp1.jobs.size).toBe(0);
    await cmp1.report([gpu]);
    await sweep(cmp1.deps);
    await cmp1.startReleases();
    expect([...cmp1.jobs.values()]).toMatchObject([{ action: 'release' }]);
    await cmp1.end('release');
    expect(await waiting()).toEqual([]);
  });

  it('is tried first, together with all others, after a report in which every driver worked', async () => {
    await leftInQuarantine(3);
    // Their own next attempts are far from due.
    for (const { release = '' } of await quarantined()) {
      const row = await cmp1.deps.store.releases.awaited(release);
      if (row)
        await cmp1.deps.store.releases.postpone(
          row,
          new Date(Date.now() + 60 * minutes).toISOString(),
        );
    }
    await report({ failed_drivers: ['fake-gpu'] });
    await sweep(inMinutes(3));
    await cmp1.startReleases();
    expect(cmp1.jobs.size).toBe(0);
    await report();
    await sweep(inMinutes(3));
    await cmp1.startReleases();
    expect(cmp1.jobs.size).toBe(1);
    cmp1.setClockAhead(3);
    await cmp1.end('release');
    await sweep(inMinutes(4));
    await cmp1.startReleases();
    expect(cmp1.jobs.size).toBe(2);
    await cmp1.end('release');
    expect(await waiting()).toEqual([]);
  });
});

describe('a host that fails one job after another', () => {
  it('takes no bind that it must prepare, and so loses no handle', async () => {
    await failBinds(3);
    expect(await cmp1.bind()).toMatchObject({
      status: 409,
      error: expect.stringMatching(/Host cmp1 has failed its last 3 jobs .*ENOSPC.* until /),
    });
    expect((await cmp1.handles()).filter(({ claim, release }) => claim || release)).toEqual([]);
  });

  it('takes one bind when its pause is over', async () => {
    await failBinds(3);
    const { host } = await cmp1.deps.store.inventory.host('cmp1');
    const before = new Date(Date.now() - 2 * minutes).toISOString();
    await cmp1.deps.store.inventory.noteFailure(host, {
      count: 0,
      lastAt: before,
      reason: 'ENOSPC',
    });
    expect(await cmp1.stateOf((await cmp1.bound()).instance)).toBe('Bound');
    await failBinds(2);
    expect((await cmp1.bind()).status).toBe(202);
  });

  it('takes binds again as soon as it has cleaned up a handle in quarantine', async () => {
    await leftInQuarantine(1);
    await failBinds(2);
    expect((await cmp1.bind()).status).toBe(409);
    cmp1.setClockAhead(3);
    await sweep(cmp1.deps);
    await cmp1.startReleases();
    await cmp1.end('release');
    expect((await cmp1.bind()).status).toBe(202);
  });

  it('is not paused for failures that the job itself causes', async () => {
    for (let each = 0; each < 4; each++) {
      const { instance, status } = await cmp1.bind();

      expect(status).toBe(202);
      await cmp1.startBindOf(instance);
      const reason = 'The image is for another interface.';
      await cmp1.end('bind', 'failed', { reason, fault: 'request', left: 'nothing' });
      await cmp1.remove(instance);
    }
  });
});
