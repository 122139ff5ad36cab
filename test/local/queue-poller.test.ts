import { CreateQueueCommand, SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { silentLog } from '#core/log.ts';
import { startQueues } from '#local/aws/queues.ts';
import {
  failedMessages,
  type QueueConsumer,
  startQueuePoller,
} from '#local/lambda/event-sources/queue-poller.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { sqsAt } from './clients.ts';

let sqs: SQSClient;
let offsetMs = 0;
const stops: (() => Promise<void>)[] = [];

const engine = perFile(() => startQueues({ now: () => Date.now() + offsetMs }));
beforeAll(() => {
  sqs = sqsAt(engine.url);
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(() => sqs.destroy());

let made = 0;
async function aQueueOf(...bodies: string[]): Promise<string> {
  made += 1;
  const command = new CreateQueueCommand({
    QueueName: `polled-${made}`,
    Attributes: { VisibilityTimeout: '60' },
  });
  const { QueueUrl = '' } = await sqs.send(command);
  await sqs.send(
    new SendMessageBatchCommand({
      QueueUrl,
      Entries: bodies.map((body, at) => ({
        Id: `${at}`,
        MessageBody: body,
        MessageAttributes: { kind: { DataType: 'String', StringValue: 'test' } },
      })),
    }),
  );
  return QueueUrl;
}

function consume(
  queueUrl: string,
  handler: QueueConsumer['handler'],
  limits = { batchSize: 10, concurrencyMax: 2 },
) {
  const consumer = { name: 'consumer', timeoutSeconds: 5, handler };
  const poller = startQueuePoller({ sqs, queueUrl, consumer, ...limits });
  stops.push(poller.stop);
  return poller;
}

const bodiesOf = (event: SQSEvent) => event.Records.map(({ body }) => body);

it('invokes the consumer with an event in the form of Lambda', async () => {
  const events: SQSEvent[] = [];
  const remaining: number[] = [];
  consume(await aQueueOf('one'), async (event, context) => {
    events.push(event);
    remaining.push(context.getRemainingTimeInMillis());
  });
  await eventually(() => events.length).toBe(1);
  expect(events[0]?.Records[0]).toMatchObject({
    messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    receiptHandle: expect.any(String),
    body: 'one',
    attributes: { ApproximateReceiveCount: '1', SentTimestamp: expect.stringMatching(/^\d+$/) },
    messageAttributes: { kind: { dataType: 'String', stringValue: 'test' } },
    eventSource: 'aws:sqs',
    eventSourceARN: `arn:aws:sqs:us-east-1:000000000000:polled-${made}`,
    awsRegion: 'us-east-1',
  });
  expect(remaining[0]).toBeGreaterThan(4000);
});

it('redelivers only the reported messages of a batch', async () => {
  const deliveries: string[][] = [];
  consume(await aQueueOf('good', 'bad'), async (event) => {
    deliveries.push(bodiesOf(event).sort());
    const bad = event.Records.filter(({ body, attributes }) => {
      return body === 'bad' && attributes.ApproximateReceiveCount === '1';
    });
    return { batchItemFailures: bad.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  });
  await eventually(() => deliveries).toEqual([['bad', 'good']]);
  offsetMs += 61_000;
  // A message wakes the waiting receiver, which then reads the clock.
  await wake();
  await eventually(() => deliveries.flat().sort()).toEqual(['bad', 'bad', 'good', 'wake']);
});

/** Wakes the poller: it waits on the clock of the engine, which a test has moved. */
async function wake(): Promise<void> {
  const QueueUrl = `${engine.url}/000000000000/polled-${made}`;
  await sqs.send(
    new SendMessageBatchCommand({ QueueUrl, Entries: [{ Id: 'w', MessageBody: 'wake' }] }),
  );
}

it('redelivers the whole batch when the consumer throws', async () => {
  const deliveries: string[][] = [];
  consume(await aQueueOf('a', 'b'), async (event) => {
    deliveries.push(bodiesOf(event).sort());
    if (deliveries.length === 1) throw new Error('no');
  });
  await eventually(() => deliveries.length).toBe(1);
  offsetMs += 61_000;
  await wake();
  await eventually(() => deliveries.flat().sort()).toEqual(['a', 'a', 'b', 'b', 'wake']);
});

it('never runs more invocations at once than its limit', async () => {
  let running = 0;
  let most = 0;
  let total = 0;
  const queue = await aQueueOf('1', '2', '3', '4', '5', '6', '7');
  consume(
    queue,
    async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      total += 1;
    },
    { batchSize: 1, concurrencyMax: 3 },
  );
  await eventually(() => total).toBe(7);
  expect(most).toBeLessThanOrEqual(3);
});

it('waits for a running consumer before it stops', async () => {
  const finish = Promise.withResolvers<void>();
  let isRunning = false;
  let hasFinished = false;
  const poller = consume(await aQueueOf('slow'), async () => {
    isRunning = true;
    await finish.promise;
    hasFinished = true;
  });
  await eventually(() => isRunning).toBe(true);
  const stopped = poller.stop();
  finish.resolve();
  await stopped;
  expect(hasFinished).toBe(true);
});

it('receives once the queues are up, if they are down when it starts', async () => {
  const absent = await startQueues();
  const port = Number(new URL(absent.url).port);
  await absent.stop();
  const refused = Promise.withResolvers<void>();
  const log = { ...silentLog, warn: () => refused.resolve() };
  const client = sqsAt(absent.url);
  const bodies: string[] = [];
  const poller = startQueuePoller({
    sqs: client,
    queueUrl: `${absent.url}/000000000000/late`,
    log,
    batchSize: 10,
    concurrencyMax: 1,
    consumer: {
      name: 'consumer',
      timeoutSeconds: 5,
      handler: async (event) => void bodies.push(...bodiesOf(event)),
    },
  });
  await refused.promise;
  const started = await startQueues({ port });
  const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: 'late' }));
  const Entries = [{ Id: 'one', MessageBody: 'late' }];
  await client.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  await eventually(() => bodies).toEqual(['late']);
  await poller.stop();
  client.destroy();
  await started.stop();
});

const batch = ['1', '2'].map((messageId) => ({ messageId }) as SQSRecord);

it.each([
  ['nothing', undefined, []],
  ['an empty report', { batchItemFailures: [] }, []],
  ['one message', { batchItemFailures: [{ itemIdentifier: '2' }] }, ['2']],
  ['an unknown message', { batchItemFailures: [{ itemIdentifier: '9' }] }, ['1', '2']],
  ['an empty identifier', { batchItemFailures: [{ itemIdentifier: '' }] }, ['1', '2']],
])('interprets a report of %s as Lambda does', (_what, response, failed) => {
  expect([...failedMessages(batch, response)]).toEqual(failed);
});
