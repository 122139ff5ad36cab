// The agent is killed at each moment of each action; after its restart the job has succeeded, and
// its result exists once.

import { describe, expect, it } from 'vitest';
import { aFunction } from '#test/support/hosts/gbs.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { aJobsHost, fpga, gpu, imageId } from './jobs-host.ts';

const host = perTest(aJobsHost);
const [uuid, other] = [
  '91ac1606-427e-44bb-8233-f4ff4bf3d241',
  'a1ac1606-427e-44bb-8233-f4ff4bf3d241',
];
const bind_id = '3b1f3a9e-5c5d-4c0e-8c0f-1c9a5f2b7d11';
const forever = 3_600_000;
const createStep = {
  kind: 'prepare',
  driver: 'fake_gpu',
  address: gpu,
  handle: { uuid, type: 'MDEV', info: { asked_type: 'fake-1' }, epoch: 1 },
};
const cleanStep = { ...createStep, kind: 'clean', handle: { ...createStep.handle, epoch: 2 } };
const otherStep = { ...createStep, handle: { ...createStep.handle, uuid: other } };

const uuids = () => host.gpu().state.mdevs.map((mdev) => mdev.uuid);

interface Action {
  readonly name: string;
  readonly operation: string;
  /** Jobs that are done before the kill. */
  readonly before?: () => object;
  readonly document: () => object;
  readonly isTouched: () => boolean;
  readonly expectDone: () => void;
}

const actions: readonly Action[] = [
  {
    name: 'making an mdev',
    operation: 'prepare',
    document: () => host.document('prepare', { bind_id, steps: [createStep] }),
    isTouched: () => uuids().includes(uuid),
    expectDone: () => expect([uuids(), host.gpu().writes]).toEqual([[uuid], 1]),
  },
  {
    name: 'removing an mdev',
    operation: 'clean',
    before: () => host.document('prepare', { bind_id, steps: [createStep] }),
    document: () => host.document('release', { bind_id, steps: [cleanStep] }),
    isTouched: () => uuids().length === 0,
    expectDone: () => expect([uuids(), host.gpu().writes]).toEqual([[], 2]),
  },
  {
    name: 'restoring mdevs after a boot',
    operation: 'prepare',
    before: () => host.document('prepare', { bind_id, steps: [createStep] }),
    document: () => host.document('reprovision', { steps: [createStep, otherStep] }),
    isTouched: () => uuids().includes(other),
    expectDone: () => expect([uuids(), host.gpu().writes]).toEqual([[uuid, other], 2]),
  },
  {
    name: 'programming a region',
    operation: 'program',
    document: () => program(),
    isTouched: () => host.fpga().state.imageId === imageId,
    expectDone: () => expect(host.fpga().state).toEqual({ imageId, functionUuid: aFunction }),
  },
];

function program() {
  const step = { kind: 'prepare', driver: 'fake_fpga', address: fpga, region: 'region0' };
  return host.document('program', { steps: [{ ...step, content: { image: host.image } }] });
}

const [sample, ...others] = actions;

describe(`an agent killed while ${sample?.name}, a sample`, () => killWhile(sample as Action));

describe.each(others)('an agent killed while $name', { tags: ['long'] }, killWhile);

function killWhile(action: Action): void {
  async function started() {
    const agent = host.start();
    if (action.before) {
      const jobId = await host.model.create(action.before());
      await eventually(() => host.model.job(jobId).status).toBe('SUCCEEDED');
    }
    return agent;
  }

  async function expectDoneAfterRestart(jobId: string): Promise<void> {
    host.setFaults({});
    host.model.fate = () => 'take';
    const reports = host.reports.length;
    host.start();
    await eventually(() => host.model.job(jobId).status).toBe('SUCCEEDED');
    await eventually(() => host.reports.length).toBeGreaterThan(reports);
    action.expectDone();
    const answers = host.model.updates.filter(
      (update) => update.jobId === jobId && update.status === 'SUCCEEDED',
    );
    expect(answers).toHaveLength(1);
  }

  it('does the job once, if the claim was on disk and the device untouched', async () => {
    const agent = await started();
    host.setFaults({ delayMs: { [action.operation]: forever } });
    const jobId = await host.model.create(action.document());
    await eventually(() => host.checkpoint()).toMatch(/"claim":/);
    await agent.killHard();
    expect(action.isTouched()).toBe(false);
    await expectDoneAfterRestart(jobId);
  });

  it('does the job once, if the device was touched and no result was on disk', async () => {
    const agent = await started();
    host.setFaults({ lingerMs: { [action.operation]: forever } });
    const jobId = await host.model.create(action.document());
    await eventually(action.isTouched).toBe(true);
    await agent.killHard();
    expect(host.checkpoint()).toMatch(/"claim":/);
    await expectDoneAfterRestart(jobId);
  });

  it.each(['lose', 'take and lose the answer'] as const)(
    'does the job once, if the result was on disk and on its way: %s',
    async (fate) => {
      const agent = await started();
      let jobId = '';
      let isLost = false;
      host.model.fate = ({ status }) => {
        isLost = status === 'SUCCEEDED';
        return isLost ? fate : 'take';
      };
      jobId = await host.model.create(action.document());
      await eventually(() => isLost).toBe(true);
      await agent.killHard();
      const { writes } = action.operation === 'program' ? host.fpga() : host.gpu();
      await expectDoneAfterRestart(jobId);
      expect((action.operation === 'program' ? host.fpga() : host.gpu()).writes).toBe(writes);
    },
  );
}

it('answers a job after its restart if the answer was lost, and does not repeat the job', async () => {
  const agent = host.start();
  host.model.fate = ({ status }) => (status === 'SUCCEEDED' ? 'lose' : 'take');
  const jobId = await host.model.create(host.document('prepare', { bind_id, steps: [createStep] }));
  await eventually(() => uuids()).toEqual([uuid]);
  await eventually(() => host.checkpoint()).toContain('"outcome":');
  expect(await agent.stop()).toBe(0);
  host.model.fate = () => 'take';
  host.start();
  await eventually(() => host.model.job(jobId).status).toBe('SUCCEEDED');
  expect(host.gpu().writes).toBe(1);
});

describe('an agent that ends while it fetches an image', () => {
  async function fetching() {
    const agent = host.start();
    host.sendImage.bytes = 10;
    const jobId = await host.model.create(program());
    await eventually(() => host.images().length).toBe(1);
    return { agent, jobId };
  }

  async function expectProgrammed(jobId: string): Promise<void> {
    host.sendImage.bytes = host.image.bytes;
    host.start();
    await eventually(() => host.model.job(jobId).status).toBe('SUCCEEDED');
    expect(host.fpga()).toMatchObject({ state: { imageId }, writes: 2 });
    await eventually(() => host.images()).toEqual([`${host.image.sha256}.image`]);
  }

  it('fetches it again after a kill', async () => {
    const { agent, jobId } = await fetching();
    await agent.killHard();
    await expectProgrammed(jobId);
  });

  it('fetches it again after a stop, and stops at once', async () => {
    const { agent, jobId } = await fetching();
    expect(await agent.stop()).toBe(0);
    expect(host.images()).toEqual([]);
    expect(host.model.job(jobId).status).toBe('IN_PROGRESS');
    await expectProgrammed(jobId);
  });

  it('fetches it again even after a first attempt to program', async () => {
    host.setFaults({ delayMs: { program: forever } });
    const first = host.start();
    const jobId = await host.model.create(program());
    await eventually(() => host.checkpoint()).toMatch(/"claim":/);
    await first.killHard();
    for (const name of host.images()) host.forget(name);
    host.sendImage.bytes = 10;
    const second = host.start();
    await eventually(() => host.images()).toEqual([expect.stringMatching(/part$/)]);
    expect(await second.stop()).toBe(0);
    host.setFaults({});
    host.sendImage.bytes = host.image.bytes;
    host.start();
    await eventually(() => host.model.job(jobId).status).toBe('SUCCEEDED');
    expect(host.fpga().state).toEqual({ imageId, functionUuid: aFunction });
  });
});

it('refuses jobs from before a reboot, and prepares again what it had, even if that hangs', async () => {
  const agent = host.start();
  host.setFaults({ lingerMs: { prepare: forever } });
  const jobId = await host.model.create(host.document('prepare', { bind_id, steps: [createStep] }));
  await eventually(() => uuids()).toEqual([uuid]);
  await agent.killHard();
  host.boot('0b0b0b0b-52a6-4b63-9d1b-9b44b1a0d9b7');
  host.start();
  await eventually(() => host.model.job(jobId).status).toBe('REJECTED');
  expect(uuids()).toEqual([uuid]);
});
