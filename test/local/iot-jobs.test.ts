// AWS IoT Jobs with the unmodified AWS client on one side and a plain MQTT client on the other: a
// device gets the notifications and answers that AWS documents.

import { CancelJobCommand, CancelJobExecutionCommand, DeleteJobCommand } from '@aws-sdk/client-iot';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { jobEvent } from '#core/contracts/jobs/job-document.ts';
import { ruleEnvelope } from '#core/contracts/queues/queue-messages.ts';
import { createRuleEngine } from '#local/aws/iot-rules.ts';
import { createQueues, startQueues } from '#local/aws/queues.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { sqsAt } from './clients.ts';
import { aDocument, startJobsSystem, startSeconds, thingArn } from './jobs-system.ts';

const system = perTest(startJobsSystem);
const summary = {
  jobId: 'job1',
  queuedAt: startSeconds,
  lastUpdatedAt: startSeconds,
  executionNumber: 1,
  versionNumber: 1,
};
const execution = { ...summary, status: 'QUEUED', jobDocument: aDocument };
const token = { clientToken: expect.any(String) };

it('delivers a job to its thing, and the event of its end to the queue of the rule', async () => {
  const engine = await startQueues();
  const sqs = sqsAt(engine.url);
  const queueUrls = await createQueues(sqs, 'test');
  system.rules.deliver = createRuleEngine({ stage: 'test', sqs, queueUrls }).deliver;
  const device = await system.connect('node-1');

  await system.create('test-job1');
  await eventually(() => device.on('notify')).toHaveLength(1);
  await device.ask('test-job1/get');
  const change = { statusDetails: { step: '1/2' }, expectedVersion: 1 };
  await device.ask('test-job1/update', { ...change, status: 'IN_PROGRESS' });
  await device.ask('test-job1/update', { status: 'SUCCEEDED', expectedVersion: 2 });

  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl: queueUrls['job-events'], WaitTimeSeconds: 10 }),
  );
  const envelope = ruleEnvelope.parse(JSON.parse(Messages[0]?.Body ?? '{}'));
  expect(envelope.topic).toBe('$aws/events/jobExecution/test-job1/succeeded');
  const event = jobEvent.parse(JSON.parse(Buffer.from(envelope.payload, 'base64').toString()));
  expect(event).toMatchObject({
    jobId: 'test-job1',
    thingArn: thingArn('node-1'),
    operation: 'succeeded',
    statusDetails: { step: '1/2' },
  });
  sqs.destroy();
  await engine.stop();
});

it('notifies a thing of a new job with the list and with the next job', async () => {
  const device = await system.connect('node-1');
  await system.create('job1');
  await eventually(() => device.messages).toHaveLength(2);
  expect(device.on('notify')).toEqual([{ timestamp: startSeconds, jobs: { QUEUED: [summary] } }]);
  expect(device.on('notify-next')).toEqual([{ timestamp: startSeconds, execution }]);
});

it('notifies of the next job only if it is another, and of the list only if it changes', async () => {
  const device = await system.connect('node-1');
  const topics = () => device.messages.map(({ topic }) => topic.split('/').slice(4).join('/'));
  await system.create('job1');
  await system.create('job2');
  await eventually(topics).toEqual(['notify', 'notify-next', 'notify']);

  // The first starts: it stays the first, and in the list.
  await device.ask('job1/update', { status: 'IN_PROGRESS' });
  await system.create('job3');
  await eventually(() => topics().slice(3)).toEqual(['job1/update/accepted', 'notify']);
  expect(device.on('notify').at(-1)).toMatchObject({
    jobs: {
      IN_PROGRESS: [{ jobId: 'job1', startedAt: startSeconds, versionNumber: 2 }],
      QUEUED: [{ jobId: 'job2' }, { jobId: 'job3' }],
    },
  });

  // The answer comes first, then the list, then the next.
  await device.ask('job1/update', { status: 'SUCCEEDED' });
  await eventually(() => topics().slice(5)).toEqual([
    'job1/update/accepted',
    'notify',
    'notify-next',
  ]);
  expect(device.on('notify-next').at(-1)).toMatchObject({ execution: { jobId: 'job2' } });

  // The last job starts before the others, and becomes the next one.
  await device.ask('job3/update', { status: 'IN_PROGRESS' });
  await eventually(() => topics().slice(8)).toEqual(['job3/update/accepted', 'notify-next']);
  expect(device.on('notify-next').at(-1)).toMatchObject({
    execution: { jobId: 'job3', status: 'IN_PROGRESS', startedAt: startSeconds, versionNumber: 2 },
  });
});

it('notifies of an empty list, and of no next job, when the last job has ended', async () => {
  const device = await system.connect('node-1');
  await system.create('job1');
  await system.iot.send(new DeleteJobCommand({ jobId: 'job1', force: true }));
  await eventually(() => device.on('notify-next')).toHaveLength(2);
  expect(device.on('notify')[1]).toEqual({ timestamp: startSeconds, jobs: {} });
  expect(device.on('notify-next')[1]).toEqual({ timestamp: startSeconds });
});

it('lists at most ten pending jobs, those in progress first', async () => {
  const device = await system.connect('node-1');
  for (let at = 1; at <= 12; at += 1) await system.create(`job${at}`);
  await device.ask('job2/update', { status: 'IN_PROGRESS' });
  const { topic, body } = await device.ask('get');
  expect(topic).toBe('$aws/things/node-1/jobs/get/accepted');
  expect(body).toMatchObject({ timestamp: startSeconds, ...token });
  expect(body.inProgressJobs).toMatchObject([{ jobId: 'job2', startedAt: startSeconds }]);
  expect(body.queuedJobs).toHaveLength(10);
  expect(body.queuedJobs?.[0]).toEqual(summary);
});

it('describes a job with or without its document, and the next one as $next', async () => {
  const device = await system.connect('node-1');
  const none = await device.ask('$next/get');
  expect(none.body).toEqual({ timestamp: startSeconds, ...token });

  await system.create('job1');
  const described = { ...execution, thingName: 'node-1' };
  const { topic, body } = await device.ask('$next/get');
  expect(topic).toBe('$aws/things/node-1/jobs/$next/get/accepted');
  expect(body).toEqual({ timestamp: startSeconds, ...token, execution: described });

  const brief = await device.ask('job1/get', { includeJobDocument: false, executionNumber: 1 });
  expect(brief.body.execution).toEqual({ ...described, jobDocument: undefined });
});

it('starts the next job, and returns one in progress unchanged', async () => {
  const device = await system.connect('node-1');
  const none = await device.ask('start-next');
  expect(none.body).toEqual({ timestamp: startSeconds, ...token });

  await system.create('job1');
  const started = await device.ask('start-next', { statusDetails: { step: '1/2' } });
  expect(started.topic).toBe('$aws/things/node-1/jobs/start-next/accepted');
  expect(started.body.execution).toEqual({
    ...execution,
    thingName: 'node-1',
    status: 'IN_PROGRESS',
    statusDetails: { step: '1/2' },
    startedAt: startSeconds,
    versionNumber: 2,
  });
  const again = await device.ask('start-next', { statusDetails: { step: 'other' } });
  expect(again.body.execution).toEqual(started.body.execution);
});

it('accepts an update with a token and a time, and returns more on request', async () => {
  const device = await system.connect('node-1');
  await system.create('job1');
  const plain = await device.ask('job1/update', { status: 'IN_PROGRESS', expectedVersion: 1 });
  expect(plain.topic).toBe('$aws/things/node-1/jobs/job1/update/accepted');
  expect(plain.body).toEqual({ timestamp: startSeconds, ...token });
  const full = await device.ask('job1/update', {
    status: 'IN_PROGRESS',
    statusDetails: { percent: '50' },
    includeJobExecutionState: true,
    includeJobDocument: true,
  });
  expect(full.body).toEqual({
    timestamp: startSeconds,
    ...token,
    executionState: { status: 'IN_PROGRESS', statusDetails: { percent: '50' }, versionNumber: 3 },
    jobDocument: aDocument,
  });
});

it('refuses an update of another version, and returns the state of the execution', async () => {
  const device = await system.connect('node-1');
  await system.create('job1');
  const { topic, body } = await device.ask('job1/update', {
    status: 'SUCCEEDED',
    expectedVersion: 99,
  });
  expect(topic).toBe('$aws/things/node-1/jobs/job1/update/rejected');
  expect(body).toEqual({
    timestamp: startSeconds,
    ...token,
    code: 'VersionMismatch',
    message: 'Expected version 99 but found version 1',
    executionState: { status: 'QUEUED', versionNumber: 1 },
  });
});

it('refuses to change or describe an execution that has ended', async () => {
  const device = await system.connect('node-1');
  await system.create('job1');
  await system.iot.send(new CancelJobCommand({ jobId: 'job1' }));
  const change = await device.ask('job1/update', { status: 'IN_PROGRESS' });
  expect(change.body).toMatchObject({
    code: 'InvalidStateTransition',
    executionState: { status: 'CANCELED', versionNumber: 2 },
  });
  const description = await device.ask('job1/get');
  expect(description.topic).toBe('$aws/things/node-1/jobs/job1/get/rejected');
  expect(description.body).toMatchObject({ code: 'TerminalStateReached' });
});

it.each([
  ['failed', 'FAILED'],
  ['rejected', 'REJECTED'],
])(
  'sends the rules the event that an execution has %s, with its details',
  async (operation, status) => {
    const device = await system.connect('node-1');
    await system.create('job1');
    await device.ask('job1/update', { status, statusDetails: { reason: 'no such region' } });
    await eventually(() => system.events()).toEqual([
      {
        topic: `$aws/events/jobExecution/job1/${operation}`,
        event: {
          eventType: 'JOB_EXECUTION',
          eventId: expect.stringMatching(/^[0-9a-f-]{36}$/),
          timestamp: startSeconds,
          operation,
          jobId: 'job1',
          thingArn: thingArn('node-1'),
          status,
          statusDetails: { reason: 'no such region' },
        },
      },
    ]);
  },
);

it('cancels an execution in progress, and the device sees it in the lists', async () => {
  const device = await system.connect('node-1');
  await system.create('job1');
  await device.ask('job1/update', { status: 'IN_PROGRESS' });
  const cancel = { jobId: 'job1', thingName: 'node-1', force: true };
  await system.iot.send(
    new CancelJobExecutionCommand({ ...cancel, statusDetails: { by: 'operator' } }),
  );
  await eventually(() => device.on('notify').at(-1)).toMatchObject({ jobs: {} });
  const { body } = await device.ask('job1/update', { status: 'SUCCEEDED', expectedVersion: 2 });
  expect(body.executionState).toMatchObject({ status: 'CANCELED', versionNumber: 3 });
  await eventually(() => system.events()).toMatchObject([
    { event: { operation: 'canceled', statusDetails: { by: 'operator' } } },
  ]);
});

it('sends the rules the same event again until they accept it', async () => {
  const take = system.rules.deliver;
  const refused: string[] = [];
  system.rules.deliver = (topic, payload) => {
    if (topic.startsWith('$aws/events/jobExecution/')) {
      refused.push(JSON.parse(payload.toString()).eventId);
      return Promise.reject(new Error('queue unavailable'));
    }
    return take(topic, payload);
  };
  await system.create('job1');
  await system.iot.send(new CancelJobCommand({ jobId: 'job1' }));
  await eventually(() => refused).toHaveLength(1);
  system.rules.deliver = take;
  await eventually(() => system.events()).toMatchObject([
    { event: { eventId: refused[0], operation: 'canceled' } },
  ]);
});
