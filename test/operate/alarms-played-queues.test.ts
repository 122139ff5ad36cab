// The alarms of dead-letter queues, raised and ended: messages fail in the deployed consumers, on
// the real SQS endpoint, until the cause is repaired and the runbook has been followed.
//
// @module-tag long

import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  GetQueueUrlCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDeadLetter } from '#core/clients/aws/queues.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { jobId } from '#core/contracts/job-ids.ts';
import {
  deadLetterQueueName,
  type QueueName,
  queues,
  type StreamConsumerName,
  streamConsumers,
} from '#core/contracts/queues.ts';
import { announcementsConsumer } from '#functions/consumers/announcements.ts';
import { changesConsumer } from '#functions/consumers/changes.ts';
import { makeConsumer as hostJobs } from '#functions/consumers/host-jobs.ts';
import { makeConsumer as hostPresence } from '#functions/consumers/host-presence.ts';
import { makeConsumer as inventoryReports } from '#functions/consumers/inventory-reports.ts';
import { makeConsumer as jobEvents } from '#functions/consumers/job-events.ts';
import { lateEventsConsumer } from '#functions/consumers/late-events.ts';
import { makeConsumer as novaEvents } from '#functions/consumers/nova-events.ts';
import { makeConsumer as providerSyncs } from '#functions/consumers/provider-syncs.ts';
import type { MakeConsumer } from '#functions/consumers/queue-consumer.ts';
import { type AlarmName, alarmEntries, inStage } from '#infra/monitoring/alarm-entries.ts';
import { createQueues, type LocalQueues, startQueues } from '#local/aws/queues.ts';
import { AlarmStage } from '#test/support/aws/alarm-stage.ts';
import { aReport } from '#test/support/reports.ts';
import { stage, startWorld, type World } from '#test/support/world.ts';

const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
const fromHost = (payload: object) => ({
  thing: `${stage}:cmp1`,
  topic: 'any',
  received_at: Date.now(),
  payload: Buffer.from(JSON.stringify(payload)).toString('base64'),
});
/** A message that is fine; its work fails while the tables, or the bus of events, are away. */
const rows: Readonly<Record<QueueName, readonly [MakeConsumer, message: object]>> = {
  'nova-events': [novaEvents, { instance_uuid: uuid, bind_id: uuid }],
  'host-jobs': [hostJobs, { kind: 'bind', instance_uuid: uuid, bind_id: uuid }],
  'provider-syncs': [providerSyncs, { provider_uuid: uuid }],
  'inventory-reports': [inventoryReports, fromHost(aReport([]))],
  'host-presence': [
    hostPresence,
    fromHost({ clientId: 'x', timestamp: 1, eventType: 'connected' }),
  ],
  'job-events': [
    jobEvents,
    fromHost({
      eventType: 'JOB_EXECUTION',
      operation: 'succeeded',
      jobId: jobId(stage, 'bind', uuid),
      thingArn: 'arn',
      timestamp: 1,
    }),
  ],
  'late-events': [
    lateEventsConsumer(() => ({
      put: async ([event]) =>
        event ? [isRepaired ? { end: 'put' } : { end: 'away', cause: 'No answer.' }] : [],
    })),
    { type: 'Device added', at: 1, detail: {} },
  ],
};

let world: World;
let engine: LocalQueues;
let sqs: SQSClient;
let urls: Readonly<Record<QueueName, string>>;
let offsetMs = 0;
let isRepaired = false;

beforeAll(async () => {
  world = await startWorld();
  engine = await startQueues({ now: () => Date.now() + offsetMs });
  sqs = new SQSClient({ endpoint: engine.url });
  urls = await createQueues(sqs, stage);
});
afterAll(async () => {
  sqs.destroy();
  await engine.stop();
  await world.stop();
});

const deadUrl = (name: QueueName | StreamConsumerName) =>
  `${engine.url}/000000000000/${deadLetterQueueName(stage, name)}`;

function depsOf(name: QueueName): ConsumerDeps {
  const { deps } = world;
  const { queueUrls, deadQueueUrls } = deps.settings;
  const away = new Proxy(deps.store, {
    get: () => {
      throw new TypeError('The tables are away.');
    },
  });
  return {
    ...deps,
    settings: {
      ...deps.settings,
      queueUrls: { ...queueUrls, [name]: urls[name] },
      deadQueueUrls: { ...deadQueueUrls, [name]: deadUrl(name) },
    },
    store: isRepaired ? deps.store : away,
  };
}

/** Invokes the consumer as Lambda does, until the queue is empty. */
async function deliverAll(name: QueueName): Promise<void> {
  const row = queues.find((each) => each.name === name);
  const [makeConsumer] = rows[name];
  const QueueUrl = urls[name];
  for (let delivery = 0; delivery <= (row?.receiveCountMax ?? 0); delivery++) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MessageSystemAttributeNames: ['All'] }),
    );
    if (Messages.length === 0) return;
    const records = Messages.map(({ MessageId, ReceiptHandle, Body, Attributes }) => ({
      messageId: MessageId,
      receiptHandle: ReceiptHandle,
      body: Body,
      attributes: Attributes,
    })) as unknown as SQSRecord[];
    const consumer = makeConsumer({ deps: () => depsOf(name), sqs: () => sqs });
    const { batchItemFailures } = await consumer({ Records: records }, {} as never);
    const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    const Entries = records
      .filter(({ messageId }) => !failed.has(messageId))
      .map(({ receiptHandle: ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle }));
    if (Entries.length > 0) await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
    offsetMs += ((row?.visibilitySeconds ?? 0) + 1) * 1000;
  }
  throw new Error(`${name} still has messages.`);
}

/** What the alarm's first command shows: the messages, which stay visible. */
async function firstCommandOf(name: AlarmName) {
  const words = inStage(stage, alarmEntries[name].firstCommand);
  const [, QueueName] = /--queue-name (\S+)/.exec(words) ?? [];
  const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName }));
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl,
      MessageAttributeNames: ['cause'],
      VisibilityTimeout: Number(/--visibility-timeout (\d+)/.exec(words)?.[1]),
    }),
  );
  return Messages;
}

it.each(queues)(
  '$name-dead: its messages fail, and are sent back after the repair',
  async ({ name }) => {
    const played = new AlarmStage(`${name}-dead`);
    const [, message] = rows[name];
    await played.depth(sqs, deadUrl(name));
    expect(played.state()).toBe('OK');

    isRepaired = false;
    await sqs.send(
      new SendMessageCommand({ QueueUrl: urls[name], MessageBody: JSON.stringify(message) }),
    );
    await deliverAll(name);
    played.nextPeriod();
    expect(await played.depth(sqs, deadUrl(name))).toBe(1);
    expect(played.state()).toBe('ALARM');

    const [shown] = await firstCommandOf(`${name}-dead`);
    expect(JSON.parse(shown?.Body ?? '')).toEqual(message);

    isRepaired = true;
    const arnOf = (queue: string) => `arn:aws:sqs:us-east-1:000000000000:${queue}`;
    await sqs.send(
      new StartMessageMoveTaskCommand({
        SourceArn: arnOf(deadLetterQueueName(stage, name)),
        DestinationArn: arnOf(`${stage}-${name}`),
      }),
    );
    await deliverAll(name);
    played.nextPeriod();
    expect(await played.depth(sqs, deadUrl(name))).toBe(0);
    expect(played.state()).toBe('OK');
  },
);

/** A row that was edited by hand: it has a key, and no more. */
const unreadable = {
  Records: [
    {
      eventID: '1',
      dynamodb: {
        SequenceNumber: '1',
        ApproximateCreationDateTime: 1,
        NewImage: { pk: { S: `INSTANCE#${uuid}` }, sk: { S: 'BINDING' } },
      },
    },
  ],
};

/** Delivers the row that no one can read to the consumer, which dead-letters it. */
async function deliverUnreadable(name: StreamConsumerName): Promise<void> {
  const deadLetter = createDeadLetter(sqs, deadUrl(name));
  if (name === 'changes') {
    await changesConsumer(() => ({ ...world.deps, deadLetter }))(unreadable, {} as never);
    return;
  }
  const announcer = {
    ...{ stage, log: world.deps.log, deadLetter },
    history: { write: async () => {} },
    events: { put: async () => [] },
  };
  await announcementsConsumer(() => announcer as never)(unreadable, {} as never);
}

it.each(streamConsumers)(
  '%s-dead: its message is read, and purged after the repair',
  async (name) => {
    const QueueUrl = deadUrl(name);
    const played = new AlarmStage(`${name}-dead`);
    await deliverUnreadable(name);
    expect(await played.depth(sqs, QueueUrl)).toBe(1);
    expect(played.state()).toBe('ALARM');
    const [shown] = await firstCommandOf(`${name}-dead`);
    expect(JSON.parse(shown?.Body ?? '')).toMatchObject({ cause: expect.stringMatching(/./) });
    await purge(played, QueueUrl);
  },
);

it('rules-dead: its message, which is given, is read, and purged after the repair', async () => {
  // Only AWS IoT has this queue: the local broker delivers to queues that are always there.
  const { QueueUrl = '' } = await sqs.send(
    new CreateQueueCommand({ QueueName: `${stage}-rules-dead` }),
  );
  const played = new AlarmStage('rules-dead');
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: '{"given":true}' }));
  expect(await played.depth(sqs, QueueUrl)).toBe(1);
  expect(played.state()).toBe('ALARM');
  expect(await firstCommandOf('rules-dead')).toMatchObject([{ Body: '{"given":true}' }]);
  await purge(played, QueueUrl);
});

async function purge(played: AlarmStage, QueueUrl: string): Promise<void> {
  await sqs.send(new PurgeQueueCommand({ QueueUrl }));
  played.nextPeriod();
  expect(await played.depth(sqs, QueueUrl)).toBe(0);
  expect(played.state()).toBe('OK');
}
