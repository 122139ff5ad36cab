// The agent's process takes jobs from a real broker: what it does, refuses and reports.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aFunction } from '#test/support/hosts/gbs.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { aJobsHost, fpga, gpu, imageId } from './jobs-host.ts';

const host = perTest(aJobsHost);
const uuid = '91ac1606-427e-44bb-8233-f4ff4bf3d241';
const bind = () => ({ bind_id: randomUUID() });
interface StepOptions {
  readonly driver: string;
  readonly address: string;
  readonly uuid: string;
  readonly type: string;
  readonly epoch: number;
}
const create = (given: Partial<StepOptions> = {}) => {
  const { driver = 'fake_gpu', address = gpu, type = 'fake-1', epoch = 1 } = given;
  const handle = { uuid: given.uuid ?? uuid, type: 'MDEV', info: { asked_type: type }, epoch };
  return { kind: 'prepare', driver, address, handle };
};
const remove = (given: Partial<StepOptions> = {}) => ({
  ...create({ epoch: 2, ...given }),
  kind: 'clean',
});

const programStep = (given: object = {}) => ({
  kind: 'prepare',
  driver: 'fake_fpga',
  address: fpga,
  region: 'region0',
  content: { image: { ...host.image, ...given } },
});

const statusOf = (jobId: string) => host.model.job(jobId).status;
const reasonOf = (jobId: string) => host.model.job(jobId).statusDetails.reason;

/** The last reported description of a region. */
const regionOf = (address: string, name: string) =>
  host.reports
    .flatMap(({ devices }) => devices)
    .findLast((device) => device.address === address)
    ?.regions.find((region) => region.name === name);

async function done(document: object, status = 'SUCCEEDED'): Promise<string> {
  const jobId = await host.model.create(document);
  await eventually(() => `${statusOf(jobId)} ${reasonOf(jobId) ?? ''}`).toContain(status);
  return jobId;
}

describe('a job', () => {
  it('makes an mdev, and another removes it; both are reported at once', async () => {
    host.start();
    await done(host.document('prepare', { ...bind(), steps: [create()] }));
    expect(host.gpu().state.mdevs).toEqual([{ address: gpu, type: 'fake-1', uuid }]);
    await eventually(() => regionOf(gpu, 'fake-2')?.num_accelerators).toBe(1);

    await done(host.document('release', { ...bind(), steps: [remove()] }));
    expect(host.gpu().state.mdevs).toEqual([]);
    await eventually(() => regionOf(gpu, 'fake-2')?.num_accelerators).toBe(2);
  });

  it('programs a region, which then has the function of the image', async () => {
    const agent = host.start();
    await done(host.document('program', { steps: [programStep()] }));
    await eventually(() => regionOf(fpga, 'region0')).toMatchObject({
      'bitstream-id': imageId,
      'function-uuid': aFunction,
    });
    expect(agent.output()).not.toContain('signature');
  });

  it('has a region described again even if it already held the image', async () => {
    host.start();
    await done(host.document('program', { steps: [programStep()] }));
    await eventually(() => regionOf(fpga, 'region0')).toMatchObject({ 'bitstream-id': imageId });
    const before = host.reports.length;
    await done(host.document('program', { steps: [programStep()] }));
    const described = () => host.reports.slice(before).flatMap(({ devices }) => devices);
    await eventually(() => described().map(({ address }) => address)).toContain(fpga);
  });

  it('is done after the host returns if it was queued while the host was away', async () => {
    const jobId = await host.model.create(
      host.document('prepare', { ...bind(), steps: [create()] }),
    );
    host.start();
    await eventually(() => statusOf(jobId)).toBe('SUCCEEDED');
  });

  it('has everything reported before it succeeds, if it is to discover', async () => {
    host.start();
    await eventually(() => host.reports.length).toBe(1);
    await done(host.document('rediscover'));
    expect(host.reports[1]?.devices.map(({ address }) => address)).toEqual([fpga, gpu]);
  });

  it('restores what is missing after a boot and leaves the rest', async () => {
    host.start();
    const [ours, others] = [randomUUID(), randomUUID()];
    await done(host.document('prepare', { ...bind(), steps: [create({ uuid: others })] }));
    const wanted = { steps: [create(), create({ uuid: ours })] };
    await done(host.document('reprovision', wanted));
    await done(host.document('reprovision', wanted));
    const uuids = host.gpu().state.mdevs.map((mdev) => mdev.uuid);
    expect(uuids).toEqual([others, uuid, ours]);
  });

  it('runs concurrently with a job for another device, and after a job for the same device', async () => {
    host.setFaults({ delayMs: { program: 3_600_000 } });
    host.start();
    const slow = await host.model.create(host.document('program', { steps: [programStep()] }));
    const same = await host.model.create(host.document('program', { steps: [programStep()] }));
    await done(host.document('prepare', { ...bind(), steps: [create()] }));
    expect([statusOf(slow), statusOf(same)]).toEqual(['IN_PROGRESS', 'QUEUED']);
  });

  it('reports its progress', async () => {
    host.setFaults({ delayMs: { prepare: 1200 } });
    host.start();
    const steps = [create(), create({ uuid: randomUUID() })];
    const jobId = await host.model.create(host.document('prepare', { ...bind(), steps }));
    await eventually(() => host.model.job(jobId).statusDetails).toMatchObject({ step: '2/2' });
    await eventually(() => statusOf(jobId)).toBe('SUCCEEDED');
  });

  it('stops between two steps when it is cancelled, and undoes nothing', async () => {
    host.setFaults({ lingerMs: { prepare: 1500 } });
    const agent = host.start();
    const steps = [create(), create({ uuid: randomUUID() })];
    const jobId = await host.model.create(host.document('prepare', { ...bind(), steps }));
    await eventually(() => host.gpu().state.mdevs.length).toBe(1);
    await host.model.cancel(jobId);
    await eventually(() => agent.output()).toContain('Job stopped');
    expect(host.gpu().state.mdevs).toHaveLength(1);
    expect(statusOf(jobId)).toBe('CANCELED');
  });

  it('fails with the reason of the hardware', async () => {
    host.setFaults({ fail: { prepare: 'EIO' } });
    host.start();
    const jobId = await done(host.document('prepare', { ...bind(), steps: [create()] }), 'FAILED');
    expect(reasonOf(jobId)).toBe('Step 1/1: EIO: prepare');
  });

  it('prepares nothing for a bind that was released before', async () => {
    host.start();
    const theBind = bind();
    await done(host.document('release', { ...theBind, steps: [remove()] }));
    await done(host.document('prepare', { ...theBind, steps: [create()] }), 'REJECTED');
    expect(host.gpu().state.mdevs).toEqual([]);
  });
});

describe('a gate of the operator', () => {
  it('keeps a handle whose device it fails, and its evidence is in the answer', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'agent-gate-'));
    const program = join(directory, 'gate');
    const write = (line: string) => writeFileSync(program, `#!/bin/sh\n${line}\n`, { mode: 0o700 });
    write('echo a row is pending; exit 3');
    const gates = { fake_gpu: { program, time_limit_seconds: 60 } };
    host.start({ CYBORG_AGENT_GATES: JSON.stringify(gates) });
    await done(host.document('prepare', { ...bind(), steps: [create()] }));
    const failed = await done(host.document('release', { ...bind(), steps: [remove()] }), 'FAILED');
    expect(reasonOf(failed)).toContain('The gate gate ended with exit code 3');
    write('echo healthy');
    const passed = await done(host.document('release', { ...bind(), steps: [remove()] }));
    const { evidence = '{}' } = host.model.job(passed).statusDetails;
    expect(JSON.parse(evidence)[uuid]).toMatchObject({ gate_exit_code: 0, gate_output: 'healthy' });
    rmSync(directory, { recursive: true });
  });
});

describe('the agent refuses', () => {
  it('a job for another host, another boot, or in another form', async () => {
    host.start();
    const ask = { ...bind(), steps: [create()] };
    const otherHost = await done(host.document('prepare', { ...ask, host: 'cmp2' }), 'REJECTED');
    expect(reasonOf(otherHost)).toContain('cmp2');
    const otherBoot = { ...ask, boot_id: randomUUID() };
    await done(host.document('prepare', otherBoot), 'REJECTED');
    const form = await done(host.document('prepare', { ...ask, version: 2 }), 'REJECTED');
    expect(reasonOf(form)).toContain('form 2');
    expect(host.gpu().writes).toBe(0);
  });

  it('to remove an mdev that it did not make', async () => {
    host.start();
    await done(host.document('prepare', { ...bind(), steps: [create()] }));
    const steps = [remove({ type: 'fake-2' }), remove({ address: fpga })];
    const jobId = await done(host.document('release', { ...bind(), steps }), 'FAILED');
    expect(reasonOf(jobId)).toContain(`Step 1/2: ${uuid} exists on the host as an mdev of type`);
    expect(reasonOf(jobId)).toContain(`Step 2/2: Driver fake_gpu finds no device at ${fpga}.`);
    expect(host.gpu().state.mdevs).toHaveLength(1);
  });

  it('an image that is not what the job says', async () => {
    host.start();
    const ask = { steps: [programStep({ sha256: '0'.repeat(64) })] };
    const jobId = await done(host.document('program', ask), 'FAILED');
    expect(reasonOf(jobId)).toContain('SHA-256');
    expect(host.fpga().writes).toBe(0);
  });
});
