// An mdev that exists before a job makes it: it is kept only if it was made for the same claim of
// its handle. Its uuid is the handle's, so it is the same for one holder after another.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '#agent/broker/read-job.ts';
import { systemClock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { runSteps } from '#agent/handles/run-steps.ts';
import { openCheckpoint } from '#agent/state/checkpoint.ts';
import { openComponentRecords } from '#agent/state/component-records.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { aReportedDevice, silentLog } from '#test/support/hosts/agent.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const bootId = '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7';
const uuid = '91ac1606-427e-44bb-8233-000000000001';
const address = '0000:0e:00.0';

const directory = directoryPerTest();

/** Uuids. */
let mdevs: Set<string>;
let calls: string[];

/** Thrown before the named action is done. */
let fault: string | undefined;

beforeEach(() => {
  mdevs = new Set();
  calls = [];
  fault = undefined;
});

function touch(what: string, then: () => void): void {
  if (fault === what) throw new Error(`EBUSY: ${what}`);
  calls.push(what);
  then();
}

const driver: Driver = {
  name: 'gpus',
  discover: async () => ({
    devices: { [address]: aReportedDevice({ address, driver: 'gpus' }) },
  }),
  find: async (handle) => ({ state: mdevs.has(handle.uuid) ? 'ready' : 'absent' }),
  prepare: async (handle) => {
    touch('create', () => mdevs.add(handle.uuid));
    return {};
  },
  clean: async (handle) => {
    touch('remove', () => mdevs.delete(handle.uuid));
    return {};
  },
};

const asked = { type: 'MDEV' as const, info: { asked_type: 'a' } };

let jobs = 0;

/** A job of one step, run by an agent that has just started. */
async function run(
  action: Job['action'],
  kind: 'prepare' | 'clean',
  epoch: number,
  asker = driver,
) {
  jobs += 1;
  const files = openStateFiles(join(directory, 'state'));
  const checkpoint = await openCheckpoint({ files, bootId, log: silentLog });
  const handle = { uuid, ...asked, epoch };
  const target = { driver: 'gpus', address, handle };
  const step = kind === 'clean' ? { kind, ...target } : { kind, ...target };
  return runSteps(
    {
      drivers: [asker],
      checkpoint,
      components: await openComponentRecords(files, silentLog),
      downloads: { withImage: () => Promise.reject(new Error('There is no image.')) },
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

describe('an mdev that the agent has made ahead', () => {
  const ahead: Driver = {
    ...driver,
    discover: async () => {
      const offers = {
        resource_class: 'VGPU',
        traits: [],
        attach_handles: [{ ...asked, uuid, prepare: 'ahead' as const, clean_seconds: 300 }],
      };
      return { devices: { [address]: aReportedDevice({ address, driver: 'gpus', offers }) } };
    },
  };

  it('is cleaned once for each release, although no job has prepared it', async () => {
    mdevs.add(uuid);
    for (const epoch of [7, 7, 6, 8]) {
      const outcome = await run('release', 'clean', epoch, ahead);
      expect(outcome).toEqual({ status: 'SUCCEEDED', evidence: { [uuid]: {} } });
    }
    expect(calls).toEqual(['remove', 'remove']);
  });
});

describe('an mdev with the uuid of a handle', () => {
  it('is kept if it was made for the same claim', async () => {
    await run('prepare', 'prepare', 6);
    expect(await run('prepare', 'prepare', 6)).toEqual({ status: 'SUCCEEDED' });
    expect(await run('reprovision', 'prepare', 6)).toEqual({ status: 'SUCCEEDED' });
    expect(calls).toEqual(['create']);
  });

  it.each(['prepare', 'reprovision'] as const)(
    'is removed and recreated by a %s for another claim',
    async (action) => {
      await run('prepare', 'prepare', 6);
      expect(await run(action, 'prepare', 7)).toEqual({ status: 'SUCCEEDED' });
      expect(calls).toEqual(['create', 'remove', 'create']);
    },
  );

  it('is kept after a boot, and never removed or given to a bind, if it has no mark', async () => {
    mdevs.add(uuid);
    await run('reprovision', 'prepare', 6);
    rmSync(join(directory, 'state'), { recursive: true });
    const reason = `Step 1/1: ${uuid} exists on the host, and was not made by this agent.`;
    expect(await run('prepare', 'prepare', 6)).toMatchObject({ status: 'FAILED', reason });
    expect(calls).toEqual([]);
    expect(mdevs.size).toBe(1);
  });

  it('fails the job if it cannot be removed, and stays marked as one of the agent', async () => {
    await run('prepare', 'prepare', 6);
    fault = 'remove';
    const reason = 'Step 1/1: EBUSY: remove';
    expect(await run('prepare', 'prepare', 7)).toEqual({ status: 'FAILED', reason });
    fault = undefined;
    expect(await run('release', 'clean', 8)).toMatchObject({ status: 'SUCCEEDED' });
    expect(mdevs.size).toBe(0);
  });

  it('is not kept because a job for the other claim failed or died before', async () => {
    await run('prepare', 'prepare', 6);
    fault = 'remove';
    await run('prepare', 'prepare', 7);
    fault = undefined;
    expect(await run('prepare', 'prepare', 7)).toEqual({ status: 'SUCCEEDED' });
    expect(calls).toEqual(['create', 'remove', 'create']);
  });
});
