import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  type CreateQueueCommandInput,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SendMessageCommandInput,
  SetQueueAttributesCommand,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { queues as queueTable, streamConsumers } from '#core/contracts/queues/queues.ts';
import { createQueues, startQueues } from '#local/aws/queues.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { sqsAt } from './clients.ts';

let sqs: SQSClient;
/** The offset of the engine's clock, with which time passes without waiting. */
let offsetMs = 0;
const passSeconds = (seconds: number) => {
  offsetMs += seconds * 1000;
};

const engine = perFile(() => startQueues({ now: () => Date.now() + offsetMs }));
beforeAll(() => {
  sqs = sqsAt(engine.url);
});

afterAll(() => sqs.destroy());

let made = 0;
async function aQueue(attributes: CreateQueueCommandInput['Attributes'] = {}): Promise<string> {
  made += 1;
  const command = new CreateQueueCommand({ QueueName: `queue-${made}`, Attributes: attributes });
  return (await sqs.send(command)).QueueUrl ?? '';
}

async function arnOf(url: string): Promise<string> {
  return (await attributesOf(url)).QueueArn ?? '';
}

async function attributesOf(url: string): Promise<Record<string, string>> {
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] });
  return (await sqs.send(command)).Attributes ?? {};
}

async function send(url: string, body: string, more: Partial<SendMessageCommandInput> = {}) {
  return sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body, ...more }));
}

async function receive(url: string, more: Partial<ReceiveMessageCommandInput> = {}) {
  const command = new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, ...more });
  return (await sqs.send(command)).Messages ?? [];
}

async function bodies(url: string): Promise<(string | undefined)[]> {
  return (await receive(url)).map(({ Body }) => Body);
}

async function aQueueWithDeadLetters(receiveCountMax: number) {
  const dead = await aQueue();
  const url = await aQueue({
    VisibilityTimeout: '5',
    RedrivePolicy: JSON.stringify({
      deadLetterTargetArn: await arnOf(dead),
      maxReceiveCount: receiveCountMax,
    }),
  });
  return { url, dead };
}

it('delivers a message with its attributes until it is deleted', async () => {
  const url = await aQueue();
  await send(url, 'bind', {
    MessageAttributes: {
      host: { DataType: 'String', StringValue: 'node-1' },
      digest: { DataType: 'Binary', BinaryValue: Uint8Array.of(1, 2, 3) },
    },
  });

  const [message] = await receive(url, { MessageAttributeNames: ['All'] });
  expect(message?.Body).toBe('bind');
  expect(message?.MessageAttributes?.host?.StringValue).toBe('node-1');
  expect(message?.MessageAttributes?.digest?.BinaryValue).toEqual(Uint8Array.of(1, 2, 3));

  await sqs.send(
    new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: message?.ReceiptHandle }),
  );
  passSeconds(60);
  expect(await receive(url)).toEqual([]);
});

it('computes the digest of message attributes as SQS does', async () => {
  const sent = await send(await aQueue(), 'body', {
    MessageAttributes: { A: { DataType: 'String', StringValue: 'b' } },
  });
  // md5 over 00000001 'A' 00000006 'String' 01 00000001 'b'
  expect(sent.MD5OfMessageAttributes).toBe('fddf6c810936d80b9bf648b61b6670be');
});

it('counts receives and keeps the time of the first, under both names of the request', async () => {
  const url = await aQueue({ VisibilityTimeout: '5' });
  await send(url, 'again');
  await receive(url);
  passSeconds(6);

  const [message] = await receive(url, { MessageSystemAttributeNames: ['All'] });
  expect(message?.Attributes?.ApproximateReceiveCount).toBe('2');
  expect(Number(message?.Attributes?.ApproximateFirstReceiveTimestamp)).toBeGreaterThanOrEqual(
    Number(message?.Attributes?.SentTimestamp),
  );
  passSeconds(6);
  const [older] = await receive(url, { AttributeNames: ['All'] });
  expect(older?.Attributes?.ApproximateReceiveCount).toBe('3');
});

it('hides a received message until its visibility timeout, and no longer', async () => {
  const url = await aQueue({ VisibilityTimeout: '10' });
  await send(url, 'hidden');
  await receive(url);
  passSeconds(9);
  expect(await bodies(url)).toEqual([]);
  passSeconds(2);
  expect(await bodies(url)).toEqual(['hidden']);
});

it('shows a message at once when its receiver sets its timeout to 0', async () => {
  const url = await aQueue();
  await send(url, 'given back');
  const [first] = await receive(url);
  await sqs.send(
    new ChangeMessageVisibilityCommand({
      QueueUrl: url,
      ReceiptHandle: first?.ReceiptHandle,
      VisibilityTimeout: 0,
    }),
  );
  expect(await bodies(url)).toEqual(['given back']);
});

it('ignores an old receipt of a message that another receiver has', async () => {
  const url = await aQueue({ VisibilityTimeout: '5' });
  await send(url, 'mine');
  const [old] = await receive(url);
  passSeconds(6);
  await receive(url);
  await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: old?.ReceiptHandle }));
  passSeconds(6);
  expect(await bodies(url)).toEqual(['mine']);
});

it('delays a message by its own delay, or by that of the queue', async () => {
  const url = await aQueue({ DelaySeconds: '60' });
  await send(url, 'later');
  await send(url, 'soon', { DelaySeconds: 5 });
  expect(await bodies(url)).toEqual([]);
  expect((await attributesOf(url)).ApproximateNumberOfMessagesDelayed).toBe('2');
  passSeconds(6);
  expect(await bodies(url)).toEqual(['soon']);
  passSeconds(60);
  expect(await bodies(url)).toContain('later');
});

it('wakes a waiting receiver as soon as a message is sent', async () => {
  const url = await aQueue();
  const waiting = receive(url, { WaitTimeSeconds: 20 });
  const startedAt = performance.now();
  await send(url, 'wake up');
  expect((await waiting)[0]?.Body).toBe('wake up');
  expect(performance.now() - startedAt).toBeLessThan(5000);
});

it('wakes a waiting receiver when a delayed message becomes visible', async () => {
  const url = await aQueue();
  await send(url, 'in a second', { DelaySeconds: 1 });
  expect((await receive(url, { WaitTimeSeconds: 20 }))[0]?.Body).toBe('in a second');
});

it('receives nothing for a receiver that has disconnected', async () => {
  const url = await aQueue();
  const gone = new AbortController();
  const waiting = sqs.send(new ReceiveMessageCommand({ QueueUrl: url, WaitTimeSeconds: 20 }), {
    abortSignal: gone.signal,
  });
  await attributesOf(url);
  gone.abort();
  await expect(waiting).rejects.toThrow();
  // After the second round trip the engine has seen the end of the first connection.
  await attributesOf(url);
  await attributesOf(url);
  await send(url, 'for the next receiver');
  expect(await receive(url, { WaitTimeSeconds: 5 })).toHaveLength(1);
});

it('moves a message to the dead-letter queue after its last delivery, and back on request', async () => {
  const { url, dead } = await aQueueWithDeadLetters(2);
  await send(url, 'poison');
  for (const delivery of [1, 2]) {
    expect(await receive(url), `delivery ${delivery}`).toHaveLength(1);
    passSeconds(6);
  }
  expect(await receive(url)).toHaveLength(0);
  const [moved] = await receive(dead, { MessageSystemAttributeNames: ['All'] });
  expect(moved?.Body).toBe('poison');
  expect(moved?.Attributes?.DeadLetterQueueSourceArn).toBe(await arnOf(url));

  await sqs.send(new StartMessageMoveTaskCommand({ SourceArn: await arnOf(dead) }));
  const [back] = await receive(url, { MessageSystemAttributeNames: ['All'] });
  expect(back?.Body).toBe('poison');
  expect(back?.Attributes?.ApproximateReceiveCount).toBe('1');
});

it('drops a message after its retention period', async () => {
  const url = await aQueue({ MessageRetentionPeriod: '60' });
  await send(url, 'old');
  passSeconds(61);
  expect(await bodies(url)).toEqual([]);
});

it('sends and deletes in batches; an invalid entry fails alone', async () => {
  const url = await aQueue();
  const sent = await sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: url,
      Entries: [
        { Id: 'good', MessageBody: 'good' },
        { Id: 'bad', MessageBody: 'not \u0000 allowed' },
      ],
    }),
  );
  expect(sent.Successful?.map(({ Id }) => Id)).toEqual(['good']);
  expect(sent.Failed?.map(({ Id, Code }) => [Id, Code])).toEqual([
    ['bad', 'InvalidMessageContents'],
  ]);

  const received = await receive(url);
  const deleted = await sqs.send(
    new DeleteMessageBatchCommand({
      QueueUrl: url,
      Entries: [
        { Id: 'a', ReceiptHandle: received[0]?.ReceiptHandle },
        { Id: 'b', ReceiptHandle: 'made up' },
      ],
    }),
  );
  expect(deleted.Successful).toHaveLength(1);
  expect(deleted.Failed?.[0]?.Code).toBe('ReceiptHandleIsInvalid');
  passSeconds(60);
  expect(await receive(url)).toEqual([]);
});

it('counts visible messages and messages in flight', async () => {
  const url = await aQueue();
  await send(url, 'one');
  await send(url, 'two');
  await receive(url, { MaxNumberOfMessages: 1 });
  const attributes = await attributesOf(url);
  expect(attributes.ApproximateNumberOfMessages).toBe('1');
  expect(attributes.ApproximateNumberOfMessagesNotVisible).toBe('1');
  await sqs.send(new PurgeQueueCommand({ QueueUrl: url }));
  expect((await attributesOf(url)).ApproximateNumberOfMessages).toBe('0');
});

it('changes the attributes of a queue in use', async () => {
  const url = await aQueue();
  await sqs.send(
    new SetQueueAttributesCommand({ QueueUrl: url, Attributes: { VisibilityTimeout: '7' } }),
  );
  expect((await attributesOf(url)).VisibilityTimeout).toBe('7');
});

const manyEntries = Array.from({ length: 11 }, (_, at) => ({ Id: `${at}`, MessageBody: 'x' }));
const half = 'x'.repeat(600 * 1024);

const refused: [string, string, { body?: string; entries?: SendMessageBatchRequestEntry[] }][] = [
  ['InvalidParameterValue', 'a message over 1 MiB', { body: 'x'.repeat(1024 * 1024 + 1) }],
  ['EmptyBatchRequest', 'an empty batch', { entries: [] }],
  ['TooManyEntriesInBatchRequest', 'eleven entries', { entries: manyEntries }],
  [
    'BatchEntryIdsNotDistinct',
    'a duplicate batch entry id',
    { entries: [1, 2].map(() => ({ Id: 'same', MessageBody: 'x' })) },
  ],
  [
    'BatchRequestTooLong',
    'a batch over 1 MiB',
    { entries: ['a', 'b'].map((Id) => ({ Id, MessageBody: half })) },
  ],
];

it.each(refused)('answers %s to %s', async (name, _what, { body, entries }) => {
  const url = await aQueue();
  const sending =
    body === undefined
      ? sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries: entries }))
      : send(url, body);
  await expect(sending).rejects.toMatchObject({ name });
});

it('refuses unknown queues, FIFO queues, and values out of range', async () => {
  const create = (input: CreateQueueCommandInput) => sqs.send(new CreateQueueCommand(input));
  await expect(sqs.send(new GetQueueUrlCommand({ QueueName: 'unknown' }))).rejects.toMatchObject({
    name: 'QueueDoesNotExist',
  });
  await expect(send(`${engine.url}/000000000000/unknown`, 'x')).rejects.toMatchObject({
    name: 'QueueDoesNotExist',
  });
  await expect(create({ QueueName: 'a.fifo' })).rejects.toThrow('standard queue');
  await expect(
    create({ QueueName: 'a', Attributes: { VisibilityTimeout: '99999' } }),
  ).rejects.toMatchObject({ name: 'InvalidAttributeValue' });
});

it('names an unknown queue in the header that older clients read', async () => {
  const response = await fetch(engine.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'AmazonSQS.GetQueueUrl',
    },
    body: JSON.stringify({ QueueName: 'unknown' }),
  });
  expect(response.status).toBe(400);
  expect(response.headers.get('x-amzn-query-error')).toBe(
    'AWS.SimpleQueueService.NonExistentQueue;Sender',
  );
});

it('creates the queues of a stage with dead-letter queues, and updates existing ones', async () => {
  const urls = await createQueues(sqs, 'test');
  const stale = { QueueUrl: urls['nova-events'], Attributes: { VisibilityTimeout: '1' } };
  await sqs.send(new SetQueueAttributesCommand(stale));
  expect(await createQueues(sqs, 'test')).toEqual(urls);

  const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'test-' }));
  expect(QueueUrls).toHaveLength(queueTable.length * 2 + streamConsumers.length);
  const attributes = await attributesOf(urls['nova-events']);
  expect(attributes.VisibilityTimeout).not.toBe('1');
  expect(attributes.RedrivePolicy).toContain('test-nova-events-dead');
});
