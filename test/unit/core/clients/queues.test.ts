import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type AwsClientStub, mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createQueues, type Queues } from '#core/clients/aws/queues.ts';
import { type QueueName, queues as rows } from '#core/contracts/queues/queues.ts';

const urls = Object.fromEntries(
  rows.map(({ name }) => [name, `https://sqs.test/${name}`]),
) as Record<QueueName, string>;
let client: SQSClient;
let sqs: AwsClientStub<SQSClient>;
let queues: Queues;
beforeEach(() => {
  client = new SQSClient({ region: 'us-east-1' });
  // Mocks this client only: a mock of the class would affect every other test.
  sqs = mockClient(client);
  sqs.on(SendMessageBatchCommand).resolves({});
  queues = createQueues(client, urls);
});
afterEach(() => {
  sqs.restore();
  client.destroy();
});

const messages = (count: number) => Array.from({ length: count }, (_, number) => ({ number }));

function batches() {
  return sqs.commandCalls(SendMessageBatchCommand).map(({ args: [{ input }] }) => input);
}

it('sends to the queue of that name, ten messages at once, each as JSON', async () => {
  await queues.send('nova-events', messages(23));
  expect(batches().map(({ QueueUrl, Entries }) => [QueueUrl, Entries?.length])).toEqual([
    [urls['nova-events'], 10],
    [urls['nova-events'], 10],
    [urls['nova-events'], 3],
  ]);
  const bodies = batches().flatMap(({ Entries = [] }) => Entries.map((each) => each.MessageBody));
  expect(bodies.map((body) => JSON.parse(body ?? ''))).toEqual(messages(23));
});

it('gives each message of a batch an id of its own', async () => {
  await queues.send('nova-events', messages(10));
  const ids = batches()[0]?.Entries?.map(({ Id }) => Id);
  expect(new Set(ids).size).toBe(10);
});

it('makes no request without messages', async () => {
  await queues.send('provider-syncs', []);
  expect(sqs.calls()).toEqual([]);
});

it('fails if SQS refused one message, and leaves the rest to the next attempt', async () => {
  sqs.on(SendMessageBatchCommand).resolvesOnce({
    Failed: [{ Id: '3', Code: 'InternalError', SenderFault: false, Message: 'try again' }],
  });
  await expect(queues.send('nova-events', messages(20))).rejects.toThrow(
    /refused 1 messages to nova-events: try again/,
  );
  expect(batches()).toHaveLength(1);
});

it('fails if SQS is unavailable', async () => {
  sqs.on(SendMessageBatchCommand).rejects(new Error('no route to host'));
  await expect(queues.send('nova-events', messages(1))).rejects.toThrow('no route to host');
});
