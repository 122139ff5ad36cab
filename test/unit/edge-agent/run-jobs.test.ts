import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCheckpoint } from '#agent/checkpoint.ts';
import { systemClock } from '#agent/clock.ts';
import { createDownloads } from '#agent/download.ts';
import type { Driver, MakesMdevs, Mdev } from '#agent/drivers/driver.ts';
import { checkImage } from '#agent/image-check.ts';
import { createLookRequests } from '#agent/look-requests.ts';
import { createJobRunner } from '#agent/run-jobs.ts';
import { openStateFiles } from '#agent/state-files.ts';
import { aClock, aReportedDevice, silentLog } from '#test/support/agent.ts';
import { aJobsService, thing } from '#test/support/agent-session.ts';
import { patience } from '#test/support/patience.ts';

const bootId = '6f4f1d67-52a6-4b63-9d1b-9b44b1a0d9b7';
const [gpu, secondGpu] = ['0000:0e:00.0', '0000:0f:00.0'];
const uuid = (number: number) => `91ac1606-427e-44bb-8233-${String(number).padStart(12, '0')}`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'run-jobs-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Two GPUs on which mdevs can be made; each making waits for the test, if it wants to. */
function aGpuDriver() {
  const mdevs: Mdev[] = [];
  const calls: string[] = [];
  const hooks = { beforeCreate: async (_mdev: Mdev) => {} };
  const driver: Driver & MakesMdevs = {
    name: 'gpus',
    discover: async () => ({
      [gpu]: aReportedDevice({ address: gpu, driver: 'gpus' }),
      [secondGpu]: aReportedDevice({ address: secondGpu, driver: 'gpus' }),
    }),
    listMdevs: async () => [...mdevs],
    createMdev: async (mdev) => {
      calls.push(`create ${mdev.uuid}`);
      await hooks.beforeCreate(mdev);
      mdevs.push(mdev);
    },
    removeMdev: async (mdev) => {
      calls.push(`remove ${mdev.uuid}`);
      mdevs.splice(
        mdevs.findIndex((each) => each.uuid === mdev.uuid),
        1,
      );
    },
  };
  return { driver, mdevs, calls, hooks };
}

const failing: Driver = { name: 'other', discover: async () => Promise.reject(new Error('EIO')) };

async function aHost({ other = failing, clock = systemClock } = {}) {
  const service = aJobsService();
  const gpus = aGpuDriver();
  const looks = createLookRequests();
  const stop = new AbortController();
  const runner = createJobRunner({
    ...{ thing, bootId, looks, log: silentLog, clock, random: () => 0 },
    stop: stop.signal,
    drivers: [other, gpus.driver],
    checkpoint: await openCheckpoint({
      files: openStateFiles(join(directory, 'state')),
      bootId,
      log: silentLog,
    }),
    checkImage,
    downloads: createDownloads(join(directory, 'images'), silentLog),
  });
  let served: Promise<void> = Promise.resolve();
  const connect = () => {
    const session = service.connect();
    served = runner.serve(session);
    return {
      session,
      lose: async () => {
        session.lose();
        await served;
      },
    };
  };
  return { service, gpus, looks, stop, runner, connect };
}

const document = (action: string, given: object = {}) => ({
  ...{ version: 1, action, host: 'cmp1.example', boot_id: bootId },
  ...(action === 'prepare' && { bind_id: uuid(99) }),
  ...given,
});
const create = (number: number, given: object = {}) => ({
  ...{ kind: 'create-mdev', address: gpu, type: 'a', uuid: uuid(number) },
  ...given,
});
const remove = (number: number) => ({ ...create(number), kind: 'remove-mdev' });

function eventually<T>(read: () => T) {
  return expect.poll(read, { ...patience, interval: 5 });
}

/** A wait that a test ends. */
function aGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('jobs', () => {
  it('for one device run in the order in which they were queued', async () => {
    const { service, gpus, connect } = await aHost();
    const gate = aGate();
    gpus.hooks.beforeCreate = () => gate.opened;
    for (const number of [1, 2, 3]) {
      await service.create(document('prepare', { steps: [create(number)] }), `job-${number}`);
    }
    connect();
    await eventually(() => gpus.calls).toEqual([`create ${uuid(1)}`]);
    expect(service.job('job-2').status).toBe('QUEUED');
    gate.open();
    await eventually(() => service.job('job-3').status).toBe('SUCCEEDED');
    expect(gpus.mdevs.map((mdev) => mdev.uuid)).toEqual([uuid(1), uuid(2), uuid(3)]);
  });

  it('go on for a device whose driver answers while that of another hangs', async () => {
    const hanging: Driver = { name: 'hanging', discover: () => new Promise(() => {}) };
    const clock = aClock();
    const { service, gpus, connect } = await aHost({ other: hanging, clock });
    connect();
    const job = await service.create(document('prepare', { steps: [create(1), create(2)] }));
    await eventually(() => service.job(job).status).toBe('IN_PROGRESS');
    await clock.advance(60_000);
    await eventually(() => service.job(job).status).toBe('SUCCEEDED');
    expect(gpus.mdevs).toHaveLength(2);
  });

  it('for different devices run side by side', async () => {
    const { service, gpus, connect } = await aHost();
    const gate = aGate();
    gpus.hooks.beforeCreate = ({ address }) => (address === gpu ? gate.opened : Promise.resolve());
    connect();
    const slow = await service.create(document('prepare', { steps: [create(1)] }));
    const steps = [create(2, { address: secondGpu })];
    const fast = await service.create(document('prepare', { steps }));
    await eventually(() => service.job(fast).status).toBe('SUCCEEDED');
    expect(service.job(slow).status).toBe('IN_PROGRESS');
    gate.open();
    await eventually(() => service.job(slow).status).toBe('SUCCEEDED');
  });

  it('are begun once, however often they are announced, with three messages each', async () => {
    const { service, gpus, connect } = await aHost();
    const { session } = connect();
    const jobId = await service.create(document('prepare', { steps: [create(1)] }));
    const pending = { jobs: { QUEUED: [{ jobId }], IN_PROGRESS: [] } };
    for (let times = 0; times < 5; times += 1) {
      session.receive(`$aws/things/${thing}/jobs/notify`, pending);
    }
    await eventually(() => service.job(jobId).status).toBe('SUCCEEDED');
    session.receive(`$aws/things/${thing}/jobs/notify`, pending);
    await eventually(() => service.requests.filter((name) => name.endsWith('/get')).length).toBe(2);
    expect(gpus.calls).toHaveLength(1);
    expect(service.requests.filter((name) => name.endsWith('/update'))).toHaveLength(2);
  });

  it('go on while the connection is lost, and are answered through the next', async () => {
    const { service, gpus, connect } = await aHost();
    const gate = aGate();
    gpus.hooks.beforeCreate = () => gate.opened;
    const first = connect();
    const jobId = await service.create(document('prepare', { steps: [create(1)] }));
    await eventually(() => gpus.calls.length).toBe(1);
    await first.lose();
    gate.open();
    await eventually(() => gpus.mdevs.length).toBe(1);
    connect();
    await eventually(() => service.job(jobId).status).toBe('SUCCEEDED');
    expect(gpus.calls).toHaveLength(1);
  });

  it('that end after the next connection came are answered by it', async () => {
    const { service, gpus, connect } = await aHost();
    const gate = aGate();
    gpus.hooks.beforeCreate = () => gate.opened;
    const first = connect();
    const jobId = await service.create(document('prepare', { steps: [create(1)] }));
    await eventually(() => gpus.calls.length).toBe(1);
    await first.lose();
    connect();
    await eventually(() => service.requests.filter((name) => name === 'get').length).toBe(2);
    gate.open();
    await eventually(() => service.job(jobId).status).toBe('SUCCEEDED');
    expect(gpus.calls).toHaveLength(1);
  });

  it('that were cancelled while they waited for their device are never begun', async () => {
    const { service, gpus, connect, runner } = await aHost();
    const gate = aGate();
    gpus.hooks.beforeCreate = () => gate.opened;
    connect();
    await service.create(document('prepare', { steps: [create(1)] }));
    const waiting = await service.create(document('prepare', { steps: [create(2)] }));
    await eventually(() => gpus.calls.length).toBe(1);
    await service.cancel(waiting);
    gate.open();
    await runner.idle();
    expect(gpus.calls).toEqual([`create ${uuid(1)}`]);
  });

  it('that are cancelled stop at their next safe point', async () => {
    const { service, gpus, connect, runner } = await aHost();
    const gate = aGate();
    gpus.hooks.beforeCreate = () => gate.opened;
    const { session } = connect();
    const job = await service.create(document('prepare', { steps: [create(1), create(2)] }));
    await eventually(() => gpus.calls.length).toBe(1);
    await service.cancel(job);
    const asked = () => session.published.filter(({ topic }) => topic.endsWith(`/${job}/get`));
    await eventually(() => asked().length).toBe(2);
    // Its answer is there a turn later, and then is known.
    for (let turn = 0; turn < 5; turn += 1) await new Promise((done) => setImmediate(done));
    gate.open();
    await runner.idle();
    expect(gpus.calls).toEqual([`create ${uuid(1)}`]);
  });

  it('are ended with what the control plane said meanwhile in mind', async () => {
    const { service, gpus, connect } = await aHost();
    gpus.hooks.beforeCreate = async () => {
      service.job('job').versionNumber += 1;
    };
    connect();
    await service.create(document('prepare', { steps: [create(1)] }), 'job');
    await eventually(() => service.job('job').status).toBe('SUCCEEDED');
  });

  it('stop at their next safe point when the agent ends, unanswered', async () => {
    const { service, gpus, connect, stop, runner } = await aHost();
    gpus.hooks.beforeCreate = async () => stop.abort();
    connect();
    const steps = [create(1), create(2)];
    const jobId = await service.create(document('prepare', { steps }));
    await eventually(() => gpus.mdevs.length).toBe(1);
    await runner.idle();
    expect(service.job(jobId).status).toBe('IN_PROGRESS');
    // The next process has the record, and does the rest.
    const next = await aHost();
    const { jobId: _, ...rest } = service.job(jobId);
    await next.service.create(rest.document, jobId);
    next.connect();
    await eventually(() => next.service.job(jobId).status).toBe('SUCCEEDED');
    expect(next.gpus.calls).toEqual([`create ${uuid(2)}`]);
  });

  it('fail before they touch a device if nothing can be recorded', async () => {
    const { service, gpus, connect } = await aHost();
    // In place of the folder.
    writeFileSync(join(directory, 'state'), '');
    connect();
    const jobId = await service.create(document('prepare', { steps: [create(1)] }));
    await eventually(() => service.job(jobId).status).toBe('FAILED');
    expect(gpus.calls).toEqual([]);
  });
});

describe('an mdev', () => {
  const outcomeOf = async (host: Awaited<ReturnType<typeof aHost>>, asked: object) => {
    const jobId = await host.service.create(asked);
    await eventually(() => host.service.job(jobId).status).not.toMatch(/QUEUED|IN_PROGRESS/);
    const { status, statusDetails } = host.service.job(jobId);
    return [status, statusDetails.reason];
  };

  it('that is there as the job wants it is taken over, and may be removed later', async () => {
    const host = await aHost();
    host.connect();
    host.gpus.mdevs.push({ address: gpu, type: 'a', uuid: uuid(1) });
    expect(await outcomeOf(host, document('prepare', { steps: [create(1)] }))).toEqual([
      'SUCCEEDED',
      undefined,
    ]);
    await outcomeOf(host, document('release', { steps: [remove(1)] }));
    expect(host.gpus.calls).toEqual([`remove ${uuid(1)}`]);
  });

  it.each([{ type: 'b' }, { address: secondGpu }])(
    'with the uuid of the job but %j is left alone',
    async (given) => {
      const host = await aHost();
      host.connect();
      host.gpus.mdevs.push({ address: gpu, type: 'a', uuid: uuid(1), ...given });
      const [status, reason] = await outcomeOf(host, document('prepare', { steps: [create(1)] }));
      expect([status, reason]).toEqual(['FAILED', expect.stringContaining('is there, but as a')]);
      const [released] = await outcomeOf(host, document('release', { steps: [remove(1)] }));
      expect([released, host.gpus.calls]).toEqual(['FAILED', []]);
    },
  );

  it('that this agent did not make is not removed', async () => {
    const host = await aHost();
    host.connect();
    host.gpus.mdevs.push({ address: gpu, type: 'a', uuid: uuid(1) });
    expect(await outcomeOf(host, document('release', { steps: [remove(1)] }))).toEqual([
      'FAILED',
      `Step 1/1: ${uuid(1)} was not made by this agent.`,
    ]);
  });

  it('that was made for a later holder outlives a late release, and may be removed later', async () => {
    const { service, gpus, connect } = await aHost();
    connect();
    const run = async (action: string, step: object) => {
      const id = await service.create(document(action, { steps: [step] }));
      await eventually(() => service.job(id).status).toBe('SUCCEEDED');
    };
    await run('prepare', create(1, { epoch: 6 }));
    await run('release', { ...remove(1), epoch: 6 });
    expect(gpus.mdevs).toHaveLength(1);
    await run('release', { ...remove(1), epoch: 7 });
    expect(gpus.mdevs).toEqual([]);
  });

  it('that is gone counts as removed', async () => {
    const host = await aHost();
    host.connect();
    const [status] = await outcomeOf(host, document('release', { steps: [remove(1)] }));
    expect([status, host.gpus.calls]).toEqual(['SUCCEEDED', []]);
  });

  it('that cannot be removed does not keep the others from it', async () => {
    const host = await aHost();
    host.connect();
    host.gpus.mdevs.push({ address: gpu, type: 'a', uuid: uuid(1) });
    await outcomeOf(host, document('prepare', { steps: [create(2)] }));
    const steps = [remove(1), remove(2), { kind: 'settle', address: gpu }];
    const [status] = await outcomeOf(host, document('release', { steps }));
    expect(status).toBe('FAILED');
    expect(host.gpus.mdevs.map((mdev) => mdev.uuid)).toEqual([uuid(1)]);
  });

  it('of a device that no driver finds is not made', async () => {
    const host = await aHost();
    host.connect();
    const steps = [create(1, { address: '0000:17:00.0' })];
    const [status, reason] = await outcomeOf(host, document('prepare', { steps }));
    expect([status, reason]).toEqual(['FAILED', expect.stringContaining('No driver finds')]);
  });

  it('is there though the driver said that it failed, and that counts', async () => {
    const host = await aHost();
    host.connect();
    host.gpus.hooks.beforeCreate = async (mdev) => {
      host.gpus.mdevs.push(mdev);
      throw new Error('EEXIST');
    };
    const [status] = await outcomeOf(host, document('prepare', { steps: [create(1)] }));
    expect(status).toBe('SUCCEEDED');
  });
});
