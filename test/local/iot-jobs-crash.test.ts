import { join } from 'node:path';
import { DescribeJobExecutionCommand, type IoTClient } from '@aws-sdk/client-iot';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ruleEnvelope } from '#core/contracts/queues/queue-messages.ts';
import { type Certificates, openCertificates } from '#local/aws/certificates.ts';
import { createQueues, startQueues } from '#local/aws/queues.ts';
import type { HttpEngine } from '#local/ports.ts';
import { freePort } from '#local/ports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';
import { sqsAt } from './clients.ts';
import { type EngineProcess, startProcess } from './engine-process.ts';
import { connectDevice, type Device } from './jobs-device.ts';
import { iotAt, newJob } from './jobs-system.ts';

const host = '127.0.0.1';
const directory = directoryPerTest();
let certificates: Certificates;
let queues: HttpEngine;
let sqs: ReturnType<typeof sqsAt>;
let queueUrls: Awaited<ReturnType<typeof createQueues>>;
let ports: { readonly iot: number; readonly mqtt: number };
let iot: IoTClient;
let running: EngineProcess;
let device: Device;

beforeEach(async () => {
  queues = await startQueues();
  sqs = sqsAt(queues.url);
  queueUrls = await createQueues(sqs, 'test');
  certificates = openCertificates(directory);
  ports = { iot: await freePort({ host, port: 0 }), mqtt: await freePort({ host, port: 0 }) };
  iot = iotAt(`http://${host}:${ports.iot}`);
});

afterEach(async () => {
  device.client.end(true);
  iot.destroy();
  await running.killHard();
  sqs.destroy();
  await queues.stop();
});

/** Starts the broker's process; `holds` keeps every event from its rule for ever. */
async function start({ holds = false } = {}): Promise<void> {
  running = await startProcess(`
    import { SQSClient } from '@aws-sdk/client-sqs';
    import { startBroker } from '#local/aws/broker.ts';
    import { openCertificates } from '#local/aws/certificates.ts';
    import { startIotJobs } from '#local/aws/iot-jobs/start.ts';
    import { createRuleEngine } from '#local/aws/iot-rules.ts';
    const sqs = new SQSClient({
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      endpoint: ${JSON.stringify(queues.url)},
    });
    const queueUrls = ${JSON.stringify(queueUrls)};
    const { deliver } = createRuleEngine({ stage: 'test', sqs, queueUrls });
    const jobs = await startIotJobs({
      port: ${ports.iot},
      file: ${JSON.stringify(join(directory, 'iot-jobs.db'))},
      deliver: ${holds} ? () => new Promise(() => {}) : deliver,
    });
    await startBroker({
      stage: 'test',
      port: ${ports.mqtt},
      certificates: openCertificates(${JSON.stringify(directory)}).server,
      deliver,
      jobs: jobs.devices,
    });
    console.log('ready');
  `);
}

async function killAndRestart(): Promise<void> {
  await running.killHard();
  const back = new Promise<void>((resolve) => device.client.once('connect', () => resolve()));
  await start();
  await back;
}

async function execution() {
  const command = new DescribeJobExecutionCommand({ jobId: 'test-job1', thingName: 'node-1' });
  return (await iot.send(command)).execution;
}

/** The next job event in its queue. */
async function nextEvent() {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl: queueUrls['job-events'], WaitTimeSeconds: 10 }),
  );
  const { topic, payload } = ruleEnvelope.parse(JSON.parse(Messages[0]?.Body ?? '{}'));
  return { topic, event: JSON.parse(Buffer.from(payload, 'base64').toString()) };
}

it('continues after a kill at every change of state', async () => {
  await start();
  device = await connectDevice({ host, port: ports.mqtt }, certificates, 'node-1');

  await iot.send(newJob('test-job1'));
  await killAndRestart();
  const { body: pending } = await device.ask('get');
  expect(pending.queuedJobs).toMatchObject([{ jobId: 'test-job1', versionNumber: 1 }]);

  const progress = { status: 'IN_PROGRESS', statusDetails: { step: '1/2' } };
  await device.ask('test-job1/update', { ...progress, expectedVersion: 1 });
  await killAndRestart();
  const { body: described } = await device.ask('test-job1/get');
  expect(described.execution).toMatchObject({ ...progress, versionNumber: 2 });

  await device.ask('test-job1/update', { status: 'SUCCEEDED', expectedVersion: 2 });
  await killAndRestart();
  expect(await execution()).toMatchObject({ status: 'SUCCEEDED', versionNumber: 3 });
  expect(await nextEvent()).toMatchObject({
    topic: '$aws/events/jobExecution/test-job1/succeeded',
    event: { statusDetails: { step: '1/2' } },
  });

  // A job created after the restart is notified as one before it.
  await iot.send(newJob('test-job2'));
  await eventually(() => device.on('notify-next').at(-1)).toMatchObject({
    execution: { jobId: 'test-job2' },
  });
});

it('delivers the event of an end after a kill between the change and the event', async () => {
  await start({ holds: true });
  device = await connectDevice({ host, port: ports.mqtt }, certificates, 'node-1');
  await iot.send(newJob('test-job1'));
  await device.ask('test-job1/update', { status: 'FAILED', statusDetails: { reason: 'no image' } });
  await killAndRestart();
  expect(await nextEvent()).toMatchObject({
    topic: '$aws/events/jobExecution/test-job1/failed',
    event: { eventType: 'JOB_EXECUTION', statusDetails: { reason: 'no image' } },
  });
});
