// The alarms of the dead-letter queues that no queue feeds, raised and ended on the real SQS
// endpoint. test/integration/poison.test.ts plays those of the queues.
//
// @module-tag long

import {
  CreateQueueCommand,
  PurgeQueueCommand,
  SendMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDeadLetter } from '#core/clients/aws/queues.ts';
import {
  deadLetterQueueName,
  type StreamConsumerName,
  streamConsumers,
} from '#core/contracts/queues/queues.ts';
import { silentLog } from '#core/log.ts';
import { noMetrics } from '#core/metrics.ts';
import { announcementsConsumer } from '#functions/consumers/announcements.ts';
import { changesConsumer } from '#functions/consumers/changes.ts';
import { createQueues, startQueues } from '#local/aws/queues.ts';
import { sqsAt } from '#test/local/clients.ts';
import { AlarmStage, messagesShownBy } from '#test/support/aws/alarm-stage.ts';
import { someDeps } from '#test/support/deps.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage } from '#test/support/world.ts';

const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
const engine = perFile(startQueues);
let sqs: SQSClient;

beforeAll(async () => {
  sqs = sqsAt(engine.url);
  await createQueues(sqs, stage);
});
afterAll(() => sqs.destroy());

const deadUrl = (name: StreamConsumerName) =>
  `${engine.url}/000000000000/${deadLetterQueueName(stage, name)}`;

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

const queues = { send: async () => {} };

/** Delivers the row that no one can read to the consumer, which dead-letters it. */
async function deliverUnreadable(name: StreamConsumerName): Promise<void> {
  const deadLetter = createDeadLetter(sqs, deadUrl(name));
  if (name === 'changes') {
    await changesConsumer(() => ({ ...someDeps({ queues }), deadLetter }))(unreadable, {} as never);
    return;
  }
  const announcer = {
    stage,
    log: silentLog,
    deadLetter,
    history: { write: async () => {} },
    events: { put: async () => [] },
    metrics: noMetrics,
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
    const [shown] = await messagesShownBy(sqs, `${name}-dead`);
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
  expect(await messagesShownBy(sqs, 'rules-dead')).toMatchObject([{ Body: '{"given":true}' }]);
  await purge(played, QueueUrl);
});

async function purge(played: AlarmStage, QueueUrl: string): Promise<void> {
  await sqs.send(new PurgeQueueCommand({ QueueUrl }));
  played.nextPeriod();
  expect(await played.depth(sqs, QueueUrl)).toBe(0);
  expect(played.state()).toBe('OK');
}
