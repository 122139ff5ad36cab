import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { aClock } from '#test/support/hosts/agent.ts';
import { thing } from '#test/support/hosts/agent-session.ts';
import {
  aGate,
  aJobHost,
  create,
  document,
  gpu,
  secondGpu,
  uuid,
} from '#test/support/hosts/job-host.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const aHost = (given?: Parameters<typeof aJobHost>[1]) => aJobHost(directory, given);

/** A host on which no mdev is made before the gate opens. */
async function aHeldHost() {
  const host = await aHost();
  const gate = aGate();
  host.gpus.hooks.beforeCreate = () => gate.opened;
  return { ...host, gate };
}

const prepare = (...numbers: number[]) =>
  document('prepare', { steps: numbers.map((number) => create(number)) });

describe('jobs', () => {
  it('for one device run in the order in which they were queued', async () => {
    const { service, gpus, connect, gate } = await aHeldHost();
    for (const number of [1, 2, 3]) {
      await service.create(prepare(number), `job-${number}`);
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
    // Time does not pass: nothing waits for the limit of the driver that hangs.
    const { service, gpus, connect } = await aHost({ other: hanging, clock: aClock() });
    connect();
    const job = await service.create(prepare(1, 2));
    await eventually(() => service.job(job).status).toBe('SUCCEEDED');
    expect(gpus.mdevs).toHaveLength(2);
  });

  it('for different devices run concurrently', async () => {
    const { service, gpus, connect } = await aHost();
    const gate = aGate();
    gpus.hooks.beforeCreate = ({ address }) => (address === gpu ? gate.opened : Promise.resolve());
    connect();
    const slow = await service.create(prepare(1));
    const steps = [create(2, { address: secondGpu })];
    const fast = await service.create(document('prepare', { steps }));
    await eventually(() => service.job(fast).status).toBe('SUCCEEDED');
    expect(service.job(slow).status).toBe('IN_PROGRESS');
    gate.open();
    await eventually(() => service.job(slow).status).toBe('SUCCEEDED');
  });

  it('are started once, however often they are announced, with three messages each', async () => {
    const { service, gpus, connect } = await aHost();
    const { session } = connect();
    const jobId = await service.create(prepare(1));
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
    const { service, gpus, connect, gate } = await aHeldHost();
    const first = connect();
    const jobId = await service.create(prepare(1));
    await eventually(() => gpus.calls.length).toBe(1);
    await first.lose();
    gate.open();
    await eventually(() => gpus.mdevs.length).toBe(1);
    connect();
    await eventually(() => service.job(jobId).status).toBe('SUCCEEDED');
    expect(gpus.calls).toHaveLength(1);
  });

  it('that end after the next connection opened are answered by it', async () => {
    const { service, gpus, connect, gate } = await aHeldHost();
    const first = connect();
    const jobId = await service.create(prepare(1));
    await eventually(() => gpus.calls.length).toBe(1);
    await first.lose();
    connect();
    await eventually(() => service.requests.filter((name) => name === 'get').length).toBe(2);
    gate.open();
    await eventually(() => service.job(jobId).status).toBe('SUCCEEDED');
    expect(gpus.calls).toHaveLength(1);
  });

  it('that were cancelled while they waited for their device are never started', async () => {
    const { service, gpus, connect, runner, gate } = await aHeldHost();
    connect();
    await service.create(prepare(1));
    const waiting = await service.create(prepare(2));
    await eventually(() => gpus.calls.length).toBe(1);
    await service.cancel(waiting);
    gate.open();
    await runner.idle();
    expect(gpus.calls).toEqual([`create ${uuid(1)}`]);
  });

  it('that are cancelled stop at their next safe point', async () => {
    const { service, gpus, connect, runner, gate } = await aHeldHost();
    const { session } = connect();
    const job = await service.create(prepare(1, 2));
    await eventually(() => gpus.calls.length).toBe(1);
    await service.cancel(job);
    const asked = () => session.published.filter(({ topic }) => topic.endsWith(`/${job}/get`));
    await eventually(() => asked().length).toBe(2);
    // The answer arrives one turn later.
    for (let turn = 0; turn < 5; turn += 1) await new Promise((done) => setImmediate(done));
    gate.open();
    await runner.idle();
    expect(gpus.calls).toEqual([`create ${uuid(1)}`]);
  });

  it('consider at their end what the control plane has changed meanwhile', async () => {
    const { service, gpus, connect } = await aHost();
    gpus.hooks.beforeCreate = async () => {
      service.job('job').versionNumber += 1;
    };
    connect();
    await service.create(prepare(1), 'job');
    await eventually(() => service.job('job').status).toBe('SUCCEEDED');
  });

  it('stop at their next safe point when the agent stops, unanswered', async () => {
    const { service, gpus, connect, stop, runner } = await aHost();
    gpus.hooks.beforeCreate = async () => stop.abort();
    connect();
    const jobId = await service.create(prepare(1, 2));
    await eventually(() => gpus.mdevs.length).toBe(1);
    await runner.idle();
    expect(service.job(jobId).status).toBe('IN_PROGRESS');
    // The next process has the checkpoint, and does the rest.
    const next = await aHost();
    const { jobId: _, ...rest } = service.job(jobId);
    await next.service.create(rest.document, jobId);
    next.connect();
    await eventually(() => next.service.job(jobId).status).toBe('SUCCEEDED');
    expect(next.gpus.calls).toEqual([`create ${uuid(2)}`]);
  });

  it('fail before they touch a device if the checkpoint cannot be stored', async () => {
    const { service, gpus, connect } = await aHost();
    // A file at the path of the folder.
    writeFileSync(join(directory, 'state'), '');
    connect();
    const jobId = await service.create(prepare(1));
    await eventually(() => service.job(jobId).status).toBe('FAILED');
    expect(gpus.calls).toEqual([]);
  });
});
