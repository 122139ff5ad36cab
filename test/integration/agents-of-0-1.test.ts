// A cloud of this version with an agent of 0.1: its report is stored, and its jobs are in the form
// that it reads.

import { CreateJobCommand, IoTClient } from '@aws-sdk/client-iot';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createIotJobs } from '#core/clients/iot-jobs.ts';
import { applySettled, aReport } from '#test/support/reports.ts';
import { gpu, startVgpuHost, type VgpuHost } from '#test/support/vgpu-host.ts';

let cmp1: VgpuHost;
const iot = mockClient(IoTClient);
beforeAll(async () => {
  cmp1 = await startVgpuHost();
  await cmp1.bootAfresh();
  iot.on(CreateJobCommand).resolves({});
});
afterAll(() => cmp1.world.stop());

/** The device as an agent of 0.1 describes it: handles without preparation and cleaning. */
const earlier = {
  ...gpu,
  regions: gpu.regions.map((region) => ({
    ...region,
    attach_handles: region.attach_handles.map(({ type, info }) => ({ type, info })),
  })),
};

function sentSteps(): object[] {
  const documents = iot.commandCalls(CreateJobCommand).map(({ args: [{ input }] }) => input);
  iot.resetHistory();
  return documents.flatMap(({ document }) => JSON.parse(document ?? '{}').steps);
}

it('a vGPU of an agent of 0.1 is made and removed by the steps that it knows', async () => {
  cmp1.counts.sequence += 1;
  const boot_id = 'bbbbbbbb-0000-4000-8000-0000000000ff';
  const report = aReport([earlier], { boot_id, sequence: cmp1.counts.sequence });
  const { form: _form, ...ofFirstForm } = report;
  await applySettled(cmp1.deps, 'cmp1', ofFirstForm, Date.now() + 1000);
  const jobs = createIotJobs({ stage: 'test', thingArnPrefix: 'arn:aws:iot:x:1:thing/' });
  const create = jobs.create;
  const recorded = cmp1.deps.clients.jobs.create;
  cmp1.deps.clients.jobs.create = async (...given) => {
    await create(...given);
    await recorded(...given);
  };

  const { instance, status } = await cmp1.bind();
  expect(status).toBe(202);
  await cmp1.startBindOf(instance);
  const [handle] = (await cmp1.handles()).filter(({ claim }) => claim);
  const mdev = { address: gpu.address, uuid: handle?.uuid, type: 'fake-1' };
  expect(sentSteps()).toMatchObject([{ kind: 'create-mdev', ...mdev, epoch: handle?.epoch }]);
  await cmp1.end('bind');
  expect(await cmp1.stateOf(instance)).toBe('Bound');

  await cmp1.remove(instance);
  await cmp1.startReleases();
  expect(sentSteps()).toMatchObject([{ kind: 'remove-mdev', ...mdev }]);
  await cmp1.end('release');
  expect((await cmp1.handles()).filter(({ claim, release }) => claim || release)).toEqual([]);
});
