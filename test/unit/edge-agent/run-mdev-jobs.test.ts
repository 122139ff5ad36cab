import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStateFiles } from '#agent/state/state-files.ts';
import {
  aGate,
  aJobHost,
  create,
  document,
  gpu,
  remove,
  secondGpu,
  uuid,
} from '#test/support/hosts/job-host.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const aHost = (given?: Parameters<typeof aJobHost>[1]) => aJobHost(directory, given);

describe('an mdev', () => {
  const connected = async () => {
    const host = await aHost();
    host.connect();
    return host;
  };
  const outcomeOf = async (
    host: Awaited<ReturnType<typeof aHost>>,
    action: 'prepare' | 'release' | 'reprovision',
    ...steps: object[]
  ) => {
    const jobId = await host.service.create(document(action, { steps }));
    await eventually(() => host.service.job(jobId).status).not.toMatch(/QUEUED|IN_PROGRESS/);
    const { status, statusDetails } = host.service.job(jobId);
    return [status, statusDetails.reason];
  };

  it('that exists after a boot as the job wants it is taken over, and may be removed', async () => {
    const host = await connected();
    host.gpus.mdevs.push({ address: gpu, type: 'a', uuid: uuid(1) });
    expect(await outcomeOf(host, 'reprovision', create(1))).toEqual(['SUCCEEDED', undefined]);
    await outcomeOf(host, 'release', remove(1));
    expect(host.gpus.calls).toEqual([`remove ${uuid(1)}`]);
  });

  it.each([{ type: 'b' }, { address: secondGpu }])(
    'with the uuid of the job but %j is left alone',
    async (given) => {
      const host = await connected();
      host.gpus.mdevs.push({ address: gpu, type: 'a', uuid: uuid(1), ...given });
      const [status, reason] = await outcomeOf(host, 'prepare', create(1));
      expect([status, reason]).toEqual([
        'FAILED',
        expect.stringContaining('exists on the host as an mdev of type'),
      ]);
      const [released] = await outcomeOf(host, 'release', remove(1));
      expect([released, host.gpus.calls]).toEqual(['FAILED', []]);
    },
  );

  it('that this agent did not make is not removed', async () => {
    const host = await connected();
    host.gpus.mdevs.push({ address: gpu, type: 'a', uuid: uuid(1) });
    expect(await outcomeOf(host, 'release', remove(1))).toEqual([
      'FAILED',
      `Step 1/1: ${uuid(1)} exists on the host, and was not made by this agent.`,
    ]);
  });

  it('that was made for a later holder survives a late release, and may be removed later', async () => {
    const host = await connected();
    const done = ['SUCCEEDED', undefined];
    expect(await outcomeOf(host, 'prepare', create(1, { epoch: 6 }))).toEqual(done);
    expect(await outcomeOf(host, 'release', remove(1, { epoch: 6 }))).toEqual(done);
    expect(host.gpus.mdevs).toHaveLength(1);
    expect(await outcomeOf(host, 'release', remove(1, { epoch: 7 }))).toEqual(done);
    expect(host.gpus.mdevs).toEqual([]);
  });

  it('that was made for a later holder survives a late preparation', async () => {
    const host = await connected();
    await outcomeOf(host, 'prepare', create(1, { epoch: 6 }));
    expect(await outcomeOf(host, 'prepare', create(1, { epoch: 5 }))).toEqual([
      'FAILED',
      'Step 1/1: A later claim has the handle.',
    ]);
    expect(host.gpus.mdevs.map((mdev) => mdev.uuid)).toEqual([uuid(1)]);
    expect(host.gpus.calls.filter((call) => call.startsWith('remove'))).toEqual([]);
  });

  it('is not made for a claim from before the last release of its handle', async () => {
    const host = await connected();
    await outcomeOf(host, 'release', remove(1, { epoch: 7 }));
    expect(await outcomeOf(host, 'prepare', create(1, { epoch: 5 }))).toEqual([
      'FAILED',
      'Step 1/1: The bind has been released already.',
    ]);
    await outcomeOf(host, 'release', remove(1, { epoch: 6 }));
    const [late] = await outcomeOf(host, 'prepare', create(1, { epoch: 6 }));
    expect([late, host.gpus.mdevs]).toEqual(['FAILED', []]);
    expect(await outcomeOf(host, 'prepare', create(1, { epoch: 7 }))).toEqual([
      'SUCCEEDED',
      undefined,
    ]);
  });

  it('that is gone counts as removed', async () => {
    const host = await connected();
    const [status] = await outcomeOf(host, 'release', remove(1));
    expect([status, host.gpus.calls]).toEqual(['SUCCEEDED', []]);
  });

  it('that cannot be removed does not stop the removal of the others', async () => {
    const host = await connected();
    host.gpus.mdevs.push({ address: gpu, type: 'a', uuid: uuid(1) });
    await outcomeOf(host, 'prepare', create(2));
    const [status] = await outcomeOf(host, 'release', remove(1), remove(2), remove(3));
    expect(status).toBe('FAILED');
    expect(host.gpus.mdevs.map((mdev) => mdev.uuid)).toEqual([uuid(1)]);
  });

  /** Kills the process after the mdev was made and before the step is stored. */
  const killedAfterCreate = async () => {
    const host = await aHost();
    const gate = aGate();
    host.gpus.hooks.beforeCreate = async (mdev) => {
      host.gpus.mdevs.push(mdev);
      gate.open();
      await new Promise(() => {});
    };
    host.connect();
    const jobId = await host.service.create(document('prepare', { steps: [create(1)] }));
    await gate.opened;
    return { gpus: host.gpus, jobId, job: host.service.job(jobId) };
  };
  const restarted = async (
    { gpus, jobId, job }: Awaited<ReturnType<typeof killedAfterCreate>>,
    files = openStateFiles(join(directory, 'state')),
  ) => {
    gpus.hooks.beforeCreate = async () => {};
    const next = await aHost({ gpus, files });
    await next.service.create(job.document, jobId);
    next.connect();
    await eventually(() => next.service.job(jobId).status).toBe('FAILED');
    return next;
  };

  it('made before a kill stays ours when the resumed step cannot check', async () => {
    const killed = await killedAfterCreate();
    killed.gpus.hooks.beforeLook = () => Promise.reject(new Error('EIO'));
    const next = await restarted(killed);
    expect(next.service.job(killed.jobId).statusDetails.left).toBeUndefined();
    killed.gpus.hooks.beforeLook = async () => {};
    const [status] = await outcomeOf(next, 'release', remove(1));
    expect([status, killed.gpus.mdevs]).toEqual(['SUCCEEDED', []]);
  });

  it('made before a kill stays ours when the resumed step finds the disk full', async () => {
    const killed = await killedAfterCreate();
    const files = openStateFiles(join(directory, 'state'));
    let fullFor = 1;
    const next = await restarted(killed, {
      ...files,
      // The claim is not stored; the result is.
      replace: (name, text) =>
        fullFor-- > 0 ? Promise.reject(new Error('ENOSPC')) : files.replace(name, text),
    });
    const [status] = await outcomeOf(next, 'release', remove(1));
    expect([status, killed.gpus.mdevs]).toEqual(['SUCCEEDED', []]);
  });

  it('that a check does not find is reported as not left', async () => {
    const host = await connected();
    host.gpus.hooks.beforeCreate = () => Promise.reject(new Error('ENOSPC'));
    const jobId = await host.service.create(document('prepare', { steps: [create(1), create(2)] }));
    await eventually(() => host.service.job(jobId).status).toBe('FAILED');
    expect(host.service.job(jobId).statusDetails).toEqual({
      reason: 'Step 1/2: ENOSPC',
      left: 'nothing',
    });
  });

  it('of a failed job is not reported as missing if another one was made', async () => {
    const host = await connected();
    host.gpus.hooks.beforeCreate = async (mdev) => {
      if (mdev.uuid === uuid(2)) throw new Error('ENOSPC');
    };
    const jobId = await host.service.create(document('prepare', { steps: [create(1), create(2)] }));
    await eventually(() => host.service.job(jobId).status).toBe('FAILED');
    expect(host.service.job(jobId).statusDetails.left).toBeUndefined();
  });

  it('of a device that no driver finds is not made', async () => {
    const host = await connected();
    const elsewhere = create(1, { address: '0000:17:00.0' });
    const [status, reason] = await outcomeOf(host, 'prepare', elsewhere);
    expect([status, reason]).toEqual(['FAILED', expect.stringContaining('finds no device at')]);
  });

  it('that exists counts as made, even if the driver reported an error', async () => {
    const host = await connected();
    host.gpus.hooks.beforeCreate = async (mdev) => {
      host.gpus.mdevs.push(mdev);
      throw new Error('EEXIST');
    };
    const [status] = await outcomeOf(host, 'prepare', create(1));
    expect(status).toBe('SUCCEEDED');
  });
});
