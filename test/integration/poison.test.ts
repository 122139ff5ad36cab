// Unreadable messages, and messages whose work always fails: of each queue, by its deployed
// consumer, on the real SQS endpoint, whose clock the test moves. The alarm of the dead-letter
// queue is raised by them, and ended as the runbook says.

import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { jobId } from '#core/contracts/jobs/job-ids.ts';
import { deadLetterQueueName, type QueueName, queues } from '#core/contracts/queues/queues.ts';
import { pauseSeconds } from '#core/domain/retry-later.ts';
import type { Log, LogFields } from '#core/log.ts';
import type { MakeConsumer } from '#functions/consumers/batch/queue-consumer.ts';
import { lateEventsConsumer } from '#functions/consumers/late-events.ts';
import { createQueues, startQueues } from '#local/aws/queues.ts';
import { makeConsumers } from '#simulation/world/aws/queues.ts';
import { AlarmStage, messagesShownBy } from '#test/support/aws/alarm-stage.ts';
import { aJobEnd } from '#test/support/builders.ts';
import { aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const consumers: Readonly<Record<QueueName, MakeConsumer>> = {
  ...makeConsumers,
  // A bus that fails for the poisoned events until it is mended.
  'late-events': lateEventsConsumer(() => ({
    put: async (events) => {
      if (!isMended && JSON.stringify(events).includes(poisonUuid)) {
        throw new TypeError('The row is damaged.');
      }
      return events.map(() => ({ end: 'put' }));
    },
  })),
};

const poisonUuid = 'eeeeeeee-0000-4000-8000-000000000001';
const poisonHost = 'poisoned';
const aUuid = 'aaaaaaaa-0000-4000-8000-000000000001';

const fromHost = (host: string, payload: object | string) => ({
  thing: `test:${host}`,
  topic: 'any',
  received_at: Date.now(),
  payload: Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)).toString(
    'base64',
  ),
});
const jobEnd = (uuid: string) => aJobEnd(jobId('test', 'bind', uuid));
const connected = { clientId: 'x', timestamp: 1, eventType: 'connected' };

/** Each queue has an unreadable message, one whose work fails (see below), and a good one. */
const messages: Readonly<
  Record<QueueName, Readonly<Record<'unreadable' | 'failing' | 'good', object>>>
> = {
  'nova-events': {
    unreadable: { instance_uuid: 'no uuid' },
    failing: { instance_uuid: poisonUuid, bind_id: poisonUuid },
    good: { instance_uuid: aUuid, bind_id: aUuid },
  },
  'host-jobs': {
    unreadable: { kind: 'dance' },
    failing: { kind: 'bind', instance_uuid: poisonUuid, bind_id: poisonUuid },
    good: { kind: 'bind', instance_uuid: aUuid, bind_id: aUuid },
  },
  'provider-syncs': {
    unreadable: {},
    failing: { provider_uuid: poisonUuid },
    good: { provider_uuid: aUuid },
  },
  'inventory-reports': {
    unreadable: fromHost('cmp1', '{"version": 99}'),
    failing: fromHost(poisonHost, aReport([])),
    good: fromHost('cmp1', aReport([])),
  },
  'host-presence': {
    unreadable: { ...fromHost('cmp1', connected), thing: 'other:cmp1' },
    failing: fromHost(poisonHost, connected),
    good: fromHost('cmp1', connected),
  },
  'job-events': {
    // Parsers quote unreadable text in their message, and SQS refuses such characters.
    unreadable: fromHost('cmp1', '\u0000\u0001\uFFFF no JSON'),
    failing: fromHost('cmp1', jobEnd(poisonUuid)),
    good: fromHost('cmp1', jobEnd(aUuid)),
  },
  'late-events': {
    unreadable: { type: 'ARQ lost', at: 1, detail: {} },
    failing: { type: 'ARQ bound', at: 1, detail: { arq_uuid: poisonUuid } },
    good: { type: 'ARQ bound', at: 1, detail: { arq_uuid: aUuid } },
  },
};

/** The log line by which an operator sees the cause: it names the place. */
const causes: Readonly<Record<QueueName, RegExp>> = {
  'nova-events': /^instance_uuid: .+; bind_id: .+$/,
  'host-jobs': /^kind: .+$/,
  'provider-syncs': /^provider_uuid or hostname .+$/,
  'inventory-reports': /^version: .+; .+$/,
  'host-presence': /^Thing "other:cmp1" is not a valid host of this stage\.$/,
  'late-events': /^type: .+$/,
  'job-events': /^Unexpected token .+ is not valid JSON$/,
};

const world = perFile(startWorld);
let offsetMs = 0;
const engine = perFile(() => startQueues({ now: () => Date.now() + offsetMs }));
let sqs: SQSClient;
let isMended = false;
let urls: Readonly<Record<QueueName, string>>;
const lines: { readonly level: string; readonly message: string; readonly fields: LogFields }[] =
  [];

beforeAll(async () => {
  sqs = new SQSClient({ endpoint: engine.url });
  urls = await createQueues(sqs, 'test');
});
afterAll(() => sqs.destroy());
beforeEach(() => {
  lines.length = 0;
  isMended = false;
});

const deadUrl = (name: QueueName) =>
  `${engine.url}/000000000000/${deadLetterQueueName('test', name)}`;

function logTo(own: LogFields = {}): Log {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields: { ...own, ...fields } });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => logTo({ ...own, ...fields }),
  };
}

/** A world whose database refuses to read the poisoned rows until they are repaired. */
function depsOf(name: QueueName): ConsumerDeps {
  const { deps } = world;
  const guarded = <Args extends readonly string[], Result>(
    read: (...args: Args) => Promise<Result>,
  ) => {
    return async (...args: Args): Promise<Result> => {
      const isPoisoned = args[0] === poisonUuid || args[0] === poisonHost;
      if (isPoisoned && !isMended) throw new TypeError('The row is damaged.');
      return read(...args);
    };
  };
  const { arqs, inventory } = deps.store;
  return {
    ...deps,
    settings: {
      ...deps.settings,
      queueUrls: { ...deps.settings.queueUrls, [name]: urls[name] },
      deadQueueUrls: { ...deps.settings.deadQueueUrls, [name]: deadUrl(name) },
    },
    store: {
      ...deps.store,
      arqs: { ...arqs, binding: guarded(arqs.binding), jobNote: guarded(arqs.jobNote) },
      inventory: {
        ...inventory,
        host: guarded(inventory.host),
        provider: guarded(
          inventory.provider as (uuid: string) => ReturnType<typeof inventory.provider>,
        ),
      },
    },
    log: logTo(),
  };
}

async function send(name: QueueName, ...kinds: ('unreadable' | 'failing' | 'good')[]) {
  const Entries = kinds.map((kind) => {
    return { Id: kind, MessageBody: JSON.stringify(messages[name][kind]) };
  });
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: urls[name], Entries }));
}

/**
 * What Lambda does with one batch: one invocation, and a delete of the messages that succeeded.
 */
async function deliver(name: QueueName): Promise<number> {
  const QueueUrl = urls[name];
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl,
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ['All'],
    }),
  );
  if (Messages.length === 0) return 0;
  const records = Messages.map((message) => ({
    messageId: message.MessageId,
    receiptHandle: message.ReceiptHandle,
    body: message.Body,
    attributes: message.Attributes,
  })) as unknown as SQSRecord[];
  const consumer = consumers[name]({ deps: () => depsOf(name), sqs: () => sqs });
  const { batchItemFailures } = await consumer({ Records: records }, {} as never);
  const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  const Entries = records
    .filter(({ messageId }) => !failed.has(messageId))
    .map(({ receiptHandle: ReceiptHandle }, index) => ({ Id: `${index}`, ReceiptHandle }));
  if (Entries.length > 0) await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  return records.length;
}

/** Runs until the queue is empty; failed messages return after their visibility timeout. */
async function deliverAll(name: QueueName, deliveriesMax: number): Promise<void> {
  const row = queues.find((each) => each.name === name);
  for (let delivery = 0; delivery <= deliveriesMax; delivery++) {
    if ((await deliver(name)) === 0) return;
    offsetMs += Math.max(row?.visibilitySeconds ?? 0, pauseSeconds(1000, 1)) * 1000 + 1000;
  }
  throw new Error(`${name} still has messages.`);
}

async function countIn(QueueUrl: string): Promise<number> {
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }),
  );
  const { ApproximateNumberOfMessages: seen, ApproximateNumberOfMessagesNotVisible: hidden } =
    Attributes ?? {};
  return Number(seen) + Number(hidden);
}

async function sendBack(name: QueueName): Promise<void> {
  const arnOf = (queue: string) => `arn:aws:sqs:us-east-1:000000000000:${queue}`;
  await sqs.send(
    new StartMessageMoveTaskCommand({
      SourceArn: arnOf(deadLetterQueueName('test', name)),
      DestinationArn: arnOf(`test-${name}`),
    }),
  );
}

describe.each(queues)('$name', ({ name, receiveCountMax }) => {
  const alarm = `${name}-dead` as const;
  const played = new AlarmStage(alarm);

  it('dead-letters an unreadable message at once, with its cause, and works on the rest', async () => {
    await send(name, 'unreadable', 'good');
    await deliverAll(name, 1);
    expect([await countIn(urls[name]), await countIn(deadUrl(name))]).toEqual([0, 1]);
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'Message unreadable', fields: { error: { name: 'Unreadable' } } },
    ]);
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: deadUrl(name),
        MessageAttributeNames: ['cause'],
        VisibilityTimeout: 0,
      }),
    );
    expect(JSON.parse(Messages[0]?.Body ?? '')).toEqual(messages[name].unreadable);
    expect(Messages[0]?.MessageAttributes?.cause?.StringValue).toMatch(causes[name]);
    // A redriven message is as unreadable as before, and is dead-lettered again.
    await sendBack(name);
    await deliverAll(name, 1);
    expect([await countIn(urls[name]), await countIn(deadUrl(name))]).toEqual([0, 1]);
    await sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl: deadUrl(name),
        Entries: (await received(deadUrl(name))).map((ReceiptHandle, index) => {
          return { Id: `${index}`, ReceiptHandle };
        }),
      }),
    );
  });

  it('dead-letters a message that always fails after its last attempt, and works on the rest at once', async () => {
    await played.depth(sqs, deadUrl(name));
    expect(played.state()).toBe('OK');
    await send(name, 'failing', 'good');
    await deliver(name);
    expect(await countIn(urls[name])).toBe(1);
    offsetMs += 3600_000;
    await deliverAll(name, receiveCountMax);
    expect([await countIn(urls[name]), await countIn(deadUrl(name))]).toEqual([0, 1]);
    const told = lines.filter(({ level }) => level === 'error');
    expect(told).toHaveLength(receiveCountMax);
    for (const { fields } of told)
      expect(fields.error).toMatchObject({ message: 'The row is damaged.' });
    expect(told.at(-1)?.fields).toMatchObject({ is_last: true, attempt: receiveCountMax });
  });

  it('raises its alarm, whose first command shows the message', async () => {
    played.nextPeriod();
    await played.depth(sqs, deadUrl(name));
    expect(played.state()).toBe('ALARM');
    const [shown] = await messagesShownBy(sqs, alarm);
    expect(JSON.parse(shown?.Body ?? '')).toEqual(messages[name].failing);
  });

  it('works on the message when the cause is repaired and the message is redriven', async () => {
    isMended = true;
    await sendBack(name);
    await deliverAll(name, 3);
    expect([await countIn(urls[name]), await countIn(deadUrl(name))]).toEqual([0, 0]);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    played.nextPeriod();
    await played.depth(sqs, deadUrl(name));
    expect(played.state()).toBe('OK');
  });
});

async function received(QueueUrl: string): Promise<string[]> {
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
  return Messages.map(({ ReceiptHandle = '' }) => ReceiptHandle);
}
