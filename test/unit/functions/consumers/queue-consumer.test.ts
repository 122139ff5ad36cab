import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { type QueueName, queues } from '#core/contracts/queues/queues.ts';
import { pauseSeconds, RetryLater } from '#core/domain/retry-later.ts';
import { holdMessages } from '#functions/consumers/batch/message-lease.ts';
import { queueConsumer } from '#functions/consumers/batch/queue-consumer.ts';
import { someDeps, someSettings } from '#test/support/deps.ts';

const schema = z.object({ name: z.string() });
const queueUrl = 'http://127.0.0.1:1/queue';
const deadQueueUrl = 'http://127.0.0.1:1/dead';
const good = { name: 'good' };

function aRecord(id: string, body: unknown, count = 1): SQSRecord {
  return {
    messageId: id,
    receiptHandle: `receipt-${id}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    attributes: { ApproximateReceiveCount: String(count) },
  } as SQSRecord;
}

/** Consumes the records; the work throws what their name asks for. */
async function consume(
  records: readonly SQSRecord[],
  {
    isAway = false,
    queue = 'nova-events',
    random = 0,
  }: { isAway?: boolean; queue?: QueueName; random?: number } = {},
) {
  const leased: string[] = [];
  const sqs = mockClient(SQSClient);
  if (isAway) sqs.rejects(new Error('away'));
  const seen: [name: string, attempt: number][] = [];
  const settings = {
    ...someSettings,
    queueUrls: { ...someSettings.queueUrls, 'nova-events': queueUrl },
    deadQueueUrls: { ...someSettings.deadQueueUrls, 'nova-events': deadQueueUrl },
  };
  const makeConsumer = queueConsumer(
    queue,
    schema,
    async (_deps, { name }, { attempt }) => {
      seen.push([name, attempt]);
      if (name === 'later') throw new RetryLater('not yet', 7.2);
      if (name === 'broken') throw new Error('broken');
    },
    ({ name }) => name !== 'unhurried',
  );
  const handler = makeConsumer({
    deps: () => someDeps({ settings, random: () => random }),
    sqs: () => new SQSClient(),
    hold: (_sqs, _url, held) => {
      leased.push(...held.map(({ messageId }) => messageId));
      return { end: () => {}, stop: async () => {} };
    },
  });
  const { batchItemFailures } = await handler({ Records: [...records] }, {} as never);
  const hidden = sqs.commandCalls(ChangeMessageVisibilityCommand).map(({ args }) => args[0].input);
  const dead = sqs.commandCalls(SendMessageCommand).map(({ args }) => args[0].input);
  sqs.restore();
  return {
    seen,
    hidden,
    dead,
    leased,
    failed: batchItemFailures.map((each) => each.itemIdentifier),
  };
}

describe("a queue's consumer", () => {
  it('hides a message that must be retried for the requested time', async () => {
    const { hidden, failed } = await consume([aRecord('1', { name: 'later' })]);
    expect(failed).toEqual(['1']);
    expect(hidden).toEqual([
      { QueueUrl: queueUrl, ReceiptHandle: 'receipt-1', VisibilityTimeout: 8 },
    ]);
  });

  it('keeps a message that it could not dead-letter, and blocks no other', async () => {
    const records = [aRecord('1', '{'), aRecord('2', { name: 'later' }), aRecord('3', good)];
    const { failed } = await consume(records, { isAway: true });
    expect(failed).toEqual(['1', '2']);
  });

  it('leases unreadable messages and those that something waits for, in a leased queue', async () => {
    const records = [aRecord('1', good), aRecord('2', { name: 'unhurried' }), aRecord('3', '{')];
    expect((await consume(records)).leased).toEqual(['1', '3']);
    expect((await consume(records, { queue: 'inventory-reports' })).leased).toEqual([]);
  });
});

describe('the lease on messages in work', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** The receipts of each renewal, and the duration. */
  function held() {
    const sqs = mockClient(SQSClient);
    const records = [aRecord('1', good), aRecord('2', good)];
    const lease = holdMessages(new SQSClient(), queueUrl, records, { warn: () => {} });
    const renewals = () =>
      sqs
        .commandCalls(ChangeMessageVisibilityBatchCommand)
        .map(({ args }) =>
          args[0].input.Entries?.map((each) => `${each.ReceiptHandle} ${each.VisibilityTimeout}`),
        );
    return { records, lease, renewals };
  }

  it('lasts 8 s, even if the queue hides messages for minutes, and is renewed', async () => {
    const { lease, renewals } = held();
    const both = ['receipt-1 8', 'receipt-2 8'];
    expect(renewals()).toEqual([both]);
    await vi.advanceTimersByTimeAsync(6000);
    expect(renewals()).toEqual([both, both, both]);
    await lease.stop();
    await vi.advanceTimersByTimeAsync(7000);
    expect(renewals()).toHaveLength(3);
  });

  it('is not renewed for a finished message', async () => {
    const { lease, records, renewals } = held();
    lease.end(records[0] as SQSRecord);
    await vi.advanceTimersByTimeAsync(3000);
    expect(renewals().at(-1)).toEqual(['receipt-2 8']);
    await lease.stop();
  });
});

describe('a message that failed is delivered again', () => {
  it.each([
    [1, 1],
    [2, 2],
    [4, 8],
    [100, 8],
    [101, 60],
  ])('in each queue, after attempt %d within %d s and after half of it', async (attempt, most) => {
    for (const { name: queue } of queues) {
      for (const random of [0, 0.999]) {
        const options = { queue, random };
        const { hidden, failed } = await consume(
          [aRecord('1', { name: 'broken' }, attempt)],
          options,
        );
        expect(failed).toEqual(['1']);
        expect(hidden[0]?.VisibilityTimeout).toBe(Math.ceil(most * (random === 0 ? 0.5 : 1)));
      }
    }
  });

  it('for longer than an outage of an hour', () => {
    const seconds = (count: number) =>
      Array.from({ length: count }, (_, index) => pauseSeconds(index + 1, 0));
    for (const { name, receiveCountMax } of queues) {
      const lasts = seconds(receiveCountMax).reduce((sum, each) => sum + each, 0);
      expect([name, lasts > 3300]).toEqual([name, true]);
    }
  });
});
