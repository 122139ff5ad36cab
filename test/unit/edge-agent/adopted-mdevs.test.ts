// An mdev that exists before a job makes it: it is kept only if it was made for the same claim of
// its handle. Its uuid is the handle's, so it is the same for one holder after another.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCheckpoint } from '#agent/checkpoint.ts';
import { systemClock } from '#agent/clock.ts';
import type { Driver, MakesMdevs, Mdev } from '#agent/drivers/driver.ts';
import type { Job } from '#agent/read-job.ts';
import { runSteps } from '#agent/run-steps.ts';
import { openStateFiles } from '#agent/state-files.ts';
import { aReportedDevice, silentLog } from '#test/support/agent.ts';

const bootId = '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7';
const uuid = '91ac1606-427e-44bb-8233-000000000001';
const address = '0000:0e:00.0';
const mdev = { address, type: 'a', uuid };

let directory: string;
let mdevs: Map<string, Mdev>;
let calls: string[];
/** Thrown before the named action is done. */
let fault: string | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'adopted-mdevs-'));
  mdevs = new Map();
  calls = [];
  fault = undefined;
});
afterEach(() => rmSync(directory, { recursive: true }));

function touch(what: string, then: () => void): void {
  if (fault === what) throw new Error(`EBUSY: ${what}`);
  calls.push(what);
  then();
}

const driver: Driver & MakesMdevs = {
  name: 'gpus',
  discover: async () => ({ [address]: aReportedDevice({ address, driver: 'gpus' }) }),
  listMdevs: async () => [...mdevs.values()],
  createMdev: async (made) => touch('create', () => mdevs.set(made.uuid, made)),
  removeMdev: async (made) => touch('remove', () => mdevs.delete(made.uuid)),
};

let jobs = 0;

/** A job of one step, run by an agent that has just started. */
async function run(action: Job['action'], kind: 'create-mdev' | 'remove-mdev', epoch?: number) {
  jobs += 1;
  const files = openStateFiles(join(directory, 'state'));
  const checkpoint = await openCheckpoint({ files, bootId, log: silentLog });
  const step = { kind, ...mdev, ...(epoch !== undefined && { epoch }) };
  return runSteps(
    {
      drivers: [driver],
      checkpoint,
      downloads: { withImage: () => Promise.reject(new Error('There is no image.')) },
      checkImage: async () => {},
      clock: systemClock,
      log: silentLog,
    },
    {
      jobId: `job-${jobs}`,
      execution: '1',
      job: { action, steps: [step] },
      stop: new AbortController().signal,
      onProgress: () => {},
    },
  );
}

describe('an mdev with the uuid of a handle', () => {
  it('is kept if it was made for the same claim', async () => {
    await run('prepare', 'create-mdev', 6);
    expect(await run('prepare', 'create-mdev', 6)).toEqual({ status: 'SUCCEEDED' });
    expect(await run('reprovision', 'create-mdev', 6)).toEqual({ status: 'SUCCEEDED' });
    expect(calls).toEqual(['create']);
  });

  it.each(['prepare', 'reprovision'] as const)(
    'is removed and recreated by a %s for another claim',
    async (action) => {
      await run('prepare', 'create-mdev', 6);
      expect(await run(action, 'create-mdev', 7)).toEqual({ status: 'SUCCEEDED' });
      expect(calls).toEqual(['create', 'remove', 'create']);
    },
  );

  it('is kept after a boot, and never removed or given to a bind, if it has no mark', async () => {
    mdevs.set(uuid, mdev);
    await run('reprovision', 'create-mdev', 6);
    rmSync(join(directory, 'state'), { recursive: true });
    const reason = `Step 1/1: The mdev ${uuid} exists, and was not created by this agent.`;
    expect(await run('prepare', 'create-mdev', 6)).toMatchObject({ status: 'FAILED', reason });
    expect(calls).toEqual([]);
    expect(mdevs.size).toBe(1);
  });

  it('fails the job if it cannot be removed, and stays marked as one of the agent', async () => {
    await run('prepare', 'create-mdev', 6);
    fault = 'remove';
    const reason = 'Step 1/1: EBUSY: remove';
    expect(await run('prepare', 'create-mdev', 7)).toEqual({ status: 'FAILED', reason });
    fault = undefined;
    expect(await run('release', 'remove-mdev', 8)).toEqual({ status: 'SUCCEEDED' });
    expect(mdevs.size).toBe(0);
  });

  it('is not kept because a job for the other claim failed or died before', async () => {
    await run('prepare', 'create-mdev', 6);
    fault = 'remove';
    await run('prepare', 'create-mdev', 7);
    fault = undefined;
    expect(await run('prepare', 'create-mdev', 7)).toEqual({ status: 'SUCCEEDED' });
    expect(calls).toEqual(['create', 'remove', 'create']);
  });
});
