// A consumer or the API dies before or after each write of a component's program. The message or
// request that comes again ends the program as if nothing had happened.

import { beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { programComponent } from '#core/operations/program/program-component.ts';
import { startProgram } from '#core/operations/program/start-program.ts';
import { forceRelease } from '#core/operations/release/force-release.ts';
import { reprovisionHost } from '#core/operations/reprovision/reprovision-host.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { aCaller, aJobEnd } from '#test/support/builders.ts';
import { card, startComponentHost } from '#test/support/hosts/recorded/component-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startComponentHost);
const caller = aCaller({ roles: ['admin'] });
const evidence = JSON.stringify({ bmc: { version: '2.0', before: '1.0', sha256: 'a' } });

class Killed extends Error {}

/** The dependencies of a process that dies around its n-th write. */
function mortal(deps: ConsumerDeps, kill: { at: number; when: 'before' | 'after' }): ConsumerDeps {
  let writes = 0;
  const around =
    <Given extends unknown[], T>(write: (...given: Given) => Promise<T>) =>
    async (...given: Given): Promise<T> => {
      writes += 1;
      const isLast = writes === kill.at;
      if (isLast && kill.when === 'before') throw new Killed();
      const answer = await write(...given);
      if (isLast) throw new Killed();
      return answer;
    };
  const { componentPrograms: programs, releases } = deps.store;
  return {
    ...deps,
    store: {
      ...deps.store,
      componentPrograms: {
        start: around(programs.start),
        note: around(programs.note),
        replace: around(programs.replace),
        giveUp: around(programs.giveUp),
        await: around(programs.await),
      },
      releases: {
        ...releases,
        confirm: around(releases.confirm),
        quarantine: around(releases.quarantine),
      },
    },
    clients: {
      ...deps.clients,
      jobs: { ...deps.clients.jobs, create: around(deps.clients.jobs.create) },
    },
  };
}

let when: 'before' | 'after';

/** Runs it until it comes through, and once more: each run dies later than the one before. */
async function insist(work: (deps: ConsumerDeps) => Promise<void>): Promise<number> {
  for (let at = 1; ; at++) {
    const outcome = await work(mortal(cmp1.deps, { at, when })).catch((error: unknown) => error);
    if (outcome instanceof Killed) continue;
    expect(outcome).toBeUndefined();
    await work(cmp1.deps);
    return at - 1;
  }
}

async function isFree(): Promise<boolean> {
  const provider = await cmp1.deps.store.inventory.provider(card);
  return provider?.handles.every(({ release }) => release === undefined) ?? false;
}

const bmc = (imageId: string) => ({ name: 'bmc', imageId, drains: false });

async function request(): Promise<number> {
  const image = await cmp1.anImage('firmware');
  const uuid = await cmp1.deviceUuid;
  return await insist((deps) => programComponent(deps, caller, uuid, bmc(image)));
}

async function ask(): Promise<number> {
  const [id = ''] = await cmp1.awaited();
  return await insist((deps) => startProgram(deps, id));
}

async function end(statusDetails: Record<string, string>, operation: 'succeeded' | 'failed') {
  const [jobId = ''] = [...cmp1.jobs.keys()].slice(-1);
  return await insist((deps) => finishJob(deps, aJobEnd(jobId, { operation, statusDetails })));
}

describe.each(['before', 'after'] as const)('killed %s a write', (moment) => {
  beforeEach(async () => {
    when = moment;
    await cmp1.bootAfresh();
  });
  it('a program that is requested and done is done once', async () => {
    const kills = [await request(), await ask(), await end({ evidence }, 'succeeded')];
    expect(kills.every((count) => count >= 1)).toBe(true);
    expect(cmp1.jobs.size).toBe(1);
    expect(await cmp1.shown()).toMatchObject({ status: 'enabled', programs: [{ state: 'done' }] });
    expect(await isFree()).toBe(true);
  });

  it('a program that fails leaves the device disabled, and its handles free', async () => {
    await request();
    await ask();
    await end({ reason: 'write of bmc: EIO' }, 'failed');
    expect(await cmp1.shown()).toMatchObject({
      status: 'maintaining',
      programs: [{ state: 'failed', reason: 'write of bmc: EIO' }],
    });
    expect(await isFree()).toBe(true);
  });

  describe('a boot', () => {
    it('replaces the program by one other', async () => {
      await request();
      await ask();
      await cmp1.boot();
      const { host } = await cmp1.deps.store.inventory.host('cmp1');
      await insist((deps) => reprovisionHost(deps, host, new Set()));
      expect(await cmp1.awaited()).toHaveLength(1);
      await ask();
      await end({ evidence }, 'succeeded');
      expect(cmp1.jobs.size).toBe(2);
      expect(await cmp1.shown()).toMatchObject({
        status: 'enabled',
        programs: [{ state: 'done' }],
      });
      expect(await isFree()).toBe(true);
    });

    it('keeps a program that awaits a power cycle', async () => {
      await request();
      await ask();
      await end({ evidence, awaits: 'power-cycle' }, 'succeeded');
      expect(await isFree()).toBe(false);
      expect(await cmp1.shown()).toMatchObject({
        status: 'maintaining',
        programs: [{ state: 'awaiting-power-cycle' }],
      });
    });
  });

  it('a program that is given up leaves the device disabled, and its handles free', async () => {
    await request();
    await ask();
    await end({ evidence, awaits: 'power-cycle' }, 'succeeded');
    const device = await cmp1.device();
    const word = { isCleaned: false };
    const kills = await insist(
      async (deps) => void (await forceRelease(deps, caller, device, word)),
    );
    expect(kills).toBe(1);
    expect(await cmp1.shown()).toMatchObject({
      status: 'maintaining',
      programs: [{ state: 'failed', reason: expect.stringMatching(/given up/) }],
    });
    expect(await isFree()).toBe(true);
  });

  it('a late end of a program changes nothing of the next', async () => {
    await request();
    await ask();
    const [first = ''] = cmp1.jobs.keys();
    await end({ reason: 'write of bmc: EIO' }, 'failed');
    const image = await cmp1.anImage('other', { version: '2.1' });
    await programComponent(cmp1.deps, caller, await cmp1.deviceUuid, bmc(image));
    await finishJob(
      cmp1.deps,
      aJobEnd(first, { operation: 'succeeded', statusDetails: { evidence } }),
    );
    expect(await cmp1.shown()).toMatchObject({
      status: 'maintaining',
      programs: [{ state: 'started', version: '2.1' }],
    });
    expect(await isFree()).toBe(false);
  });
});
