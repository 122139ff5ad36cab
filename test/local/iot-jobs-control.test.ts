// The HTTP side of AWS IoT Jobs, through the unmodified AWS client.

import {
  CancelJobCommand,
  CancelJobExecutionCommand,
  DeleteJobCommand,
  DescribeJobCommand,
  ListJobExecutionsForThingCommand,
} from '@aws-sdk/client-iot';
import { expect, it } from 'vitest';
import { createIotJobs } from '#core/clients/aws/iot-jobs.ts';
import { startIotJobs } from '#local/aws/iot-jobs/start.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { aDocument, startJobsSystem, startMs, thingArn } from './jobs-system.ts';

const system = perTest(startJobsSystem);
const both = { targets: [thingArn('node-1'), thingArn('node-2')] };

it('creates a job once, and refuses the same job again', async () => {
  expect(await system.create('job1', { description: 'first' })).toMatchObject({
    jobArn: 'arn:aws:iot:us-east-1:000000000000:job/job1',
    jobId: 'job1',
    description: 'first',
  });
  for (const document of [JSON.stringify(aDocument), '{"other":1}']) {
    await expect(system.create('job1', { document })).rejects.toMatchObject({
      name: 'ResourceAlreadyExistsException',
      $metadata: { httpStatusCode: 409 },
    });
  }
});

it.each([
  ['an id with a dot', 'job.1', {}],
  ['an id of 65 characters', 'x'.repeat(65), {}],
  ['a document that is not valid JSON', 'job1', { document: '{' }],
  ['a document over 32 KB', 'job1', { document: `"${'x'.repeat(32 * 1024 - 1)}"` }],
  ['no target', 'job1', { targets: [] }],
  ['a target that is not a thing', 'job1', { targets: ['node-1'] }],
  ['a timeout of 0 minutes', 'job1', { timeoutConfig: { inProgressTimeoutInMinutes: 0 } }],
  ['an unsupported value', 'job1', { targetSelection: 'CONTINUOUS' as const }],
  ['an unsupported parameter', 'job1', { abortConfig: { criteriaList: [] } }],
])('refuses %s', async (_what, jobId, more) => {
  await expect(system.create(jobId, more)).rejects.toMatchObject({
    name: 'InvalidRequestException',
    $metadata: { httpStatusCode: 400 },
  });
});

it('accepts a document of 32 KB', async () => {
  await system.create('job1', { document: `"${'x'.repeat(32 * 1024 - 2)}"` });
});

it('describes a job with its counts, and completes it when all executions have ended', async () => {
  const config = {
    presignedUrlConfig: { roleArn: 'arn:aws:iam::000000000000:role/jobs', expiresInSec: 60 },
    timeoutConfig: { inProgressTimeoutInMinutes: 10 },
  };
  await system.create('job1', { ...both, ...config, targetSelection: 'SNAPSHOT' });
  const describe = async () =>
    (await system.iot.send(new DescribeJobCommand({ jobId: 'job1' }))).job;
  expect(await describe()).toMatchObject({
    ...both,
    ...config,
    status: 'IN_PROGRESS',
    targetSelection: 'SNAPSHOT',
    createdAt: new Date(startMs),
    jobProcessDetails: { numberOfQueuedThings: 2, numberOfSucceededThings: 0 },
  });

  const [one, two] = await Promise.all([system.connect('node-1'), system.connect('node-2')]);
  await one.ask('job1/update', { status: 'SUCCEEDED' });
  expect(await describe()).toMatchObject({ status: 'IN_PROGRESS' });
  await two.ask('job1/update', { status: 'FAILED' });
  expect(await describe()).toMatchObject({
    status: 'COMPLETED',
    completedAt: new Date(startMs),
    jobProcessDetails: { numberOfSucceededThings: 1, numberOfFailedThings: 1 },
  });
  await expect(system.iot.send(new CancelJobCommand({ jobId: 'job1' }))).rejects.toMatchObject({
    name: 'InvalidRequestException',
  });
});

it('describes an execution, with its remaining time', async () => {
  await system.create('job1', { timeoutConfig: { inProgressTimeoutInMinutes: 10 } });
  const device = await system.connect('node-1');
  const change = { status: 'IN_PROGRESS', statusDetails: { step: '1/2' } };
  await device.ask('job1/update', change);
  system.clock.nowMs += 60_000;
  expect(await system.execution('job1')).toEqual({
    jobId: 'job1',
    status: 'IN_PROGRESS',
    forceCanceled: false,
    statusDetails: { detailsMap: { step: '1/2' } },
    thingArn: thingArn('node-1'),
    queuedAt: new Date(startMs),
    startedAt: new Date(startMs),
    lastUpdatedAt: new Date(startMs),
    executionNumber: 1,
    versionNumber: 2,
    approximateSecondsBeforeTimedOut: 540,
  });
  await expect(system.execution('job1', 'node-2')).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
    $metadata: { httpStatusCode: 404 },
  });
});

it('cancels a queued execution, and one in progress only by force', async () => {
  const device = await system.connect('node-1');
  await system.create('job1', both);
  await device.ask('job1/update', { status: 'IN_PROGRESS' });

  await system.iot.send(new CancelJobCommand({ jobId: 'job1', comment: 'too late' }));
  expect(await system.execution('job1', 'node-2')).toMatchObject({ status: 'CANCELED' });
  expect(await system.execution('job1')).toMatchObject({ status: 'IN_PROGRESS' });

  await system.iot.send(new CancelJobCommand({ jobId: 'job1', force: true }));
  expect(await system.execution('job1')).toMatchObject({
    status: 'CANCELED',
    forceCanceled: true,
    versionNumber: 3,
  });
  await eventually(() => system.events().map(({ event }) => event.thingArn)).toEqual([
    thingArn('node-2'),
    thingArn('node-1'),
  ]);
  const { job } = await system.iot.send(new DescribeJobCommand({ jobId: 'job1' }));
  expect(job).toMatchObject({ status: 'CANCELED', forceCanceled: true });
});

it('refuses a comment with a line end, as AWS does', async () => {
  await system.create('job1');
  const cancel = new CancelJobCommand({ jobId: 'job1', comment: 'one\ntwo' });
  await expect(system.iot.send(cancel)).rejects.toMatchObject({ name: 'InvalidRequestException' });
});

it('cancels one execution with the expected version only', async () => {
  await system.create('job1');
  const device = await system.connect('node-1');
  await device.ask('start-next');
  const cancel = (more: object) =>
    system.iot.send(new CancelJobExecutionCommand({ jobId: 'job1', thingName: 'node-1', ...more }));
  await expect(cancel({})).rejects.toMatchObject({ name: 'InvalidStateTransitionException' });
  await expect(cancel({ force: true, expectedVersion: 1 })).rejects.toMatchObject({
    name: 'VersionConflictException',
  });
  await cancel({ force: true, expectedVersion: 2 });
  await expect(cancel({ force: true })).rejects.toMatchObject({
    name: 'InvalidStateTransitionException',
  });
});

it('deletes a job with its executions, by force while it is in progress', async () => {
  await system.create('job1');
  const remove = (force: boolean) =>
    system.iot.send(new DeleteJobCommand({ jobId: 'job1', force }));
  await expect(remove(false)).rejects.toMatchObject({ name: 'InvalidStateTransitionException' });
  await remove(true);
  await expect(system.execution('job1')).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
  });
  await eventually(() => system.events()).toMatchObject([
    { topic: '$aws/events/jobExecution/job1/deleted', event: { operation: 'deleted' } },
  ]);
  await system.create('job1');
});

it('lists the executions of a thing, newest first, in pages', async () => {
  for (const jobId of ['job1', 'job2', 'job3']) await system.create(jobId, both);
  await system.iot.send(new CancelJobCommand({ jobId: 'job2' }));
  const list = (more: object) =>
    system.iot.send(new ListJobExecutionsForThingCommand({ thingName: 'node-1', ...more }));
  const first = await list({ maxResults: 2 });
  expect(first.executionSummaries).toMatchObject([
    { jobId: 'job3', jobExecutionSummary: { status: 'QUEUED', queuedAt: new Date(startMs) } },
    { jobId: 'job2', jobExecutionSummary: { status: 'CANCELED', executionNumber: 1 } },
  ]);
  const rest = await list({ maxResults: 2, nextToken: first.nextToken });
  expect(rest.executionSummaries).toMatchObject([{ jobId: 'job1' }]);
  expect(rest.nextToken).toBeUndefined();
  const canceled = await list({ status: 'CANCELED' });
  expect(canceled.executionSummaries).toMatchObject([{ jobId: 'job2' }]);
});

it('throttles CreateJob above a rate', async () => {
  const slow = await startJobsSystem({ createJobsPerSecond: 2 });
  const names = ['job1', 'job2', 'job3'];
  const outcomes = await Promise.allSettled(names.map((name) => slow.create(name)));
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused).toMatchObject([{ reason: { name: 'ThrottlingException' } }]);
  slow.clock.nowMs += 1000;
  await slow.create('job4');
  await slow.stop();
});

it('names the variable that chooses another port if its own is taken', async () => {
  const port = Number(new URL(system.url).port);
  const taken = startIotJobs({ port, variable: 'LOCAL_IOT_PORT', deliver: async () => {} });
  await expect(taken).rejects.toThrow(
    `Port ${port} is in use by another program: stop it, or set LOCAL_IOT_PORT to another one.`,
  );
});

it('fits the client of the control plane', async () => {
  const client = createIotJobs({ stage: 'test', thingArnPrefix: thingArn(''), client: system.iot });
  const document = {
    version: 1,
    host: 'node-1.example',
    boot_id: '00000000-0000-4000-8000-000000000001',
    action: 'rediscover',
  } as const;
  await client.create('job1', document);
  await client.create('job1', document);
  expect(await client.executionStatus('job1', 'node-1.example')).toBe('QUEUED');
  expect(await client.executionStatus('job2', 'node-1.example')).toBeUndefined();
  await client.cancel('job1', 'not needed');
  await client.cancel('job1', 'not needed');
  expect(await client.executionStatus('job1', 'node-1.example')).toBe('CANCELED');
  await client.cancel('job2', 'never was');
});
