import { ChangeMessageVisibilityCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { RetryLater } from '#core/domain/retry-later.ts';
import { queueConsumer } from '#functions/consumers/queue-consumer.ts';
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
async function consume(records: readonly SQSRecord[], { isAway = false } = {}) {
  const sqs = mockClient(SQSClient);
  if (isAway) sqs.rejects(new Error('away'));
  const seen: [name: string, attempt: number][] = [];
  const settings = {
    ...someSettings,
    queueUrls: { ...someSettings.queueUrls, 'nova-events': queueUrl },
    deadQueueUrls: { ...someSettings.deadQueueUrls, 'nova-events': deadQueueUrl },
  };
  const makeConsumer = queueConsumer(
    'nova-events',
    schema,
    async (_deps, { name }, { attempt }) => {
      seen.push([name, attempt]);
      if (name === 'later') throw new RetryLater('not yet', 7.2);
      if (name === 'broken') throw new Error('broken');
    },
  );
  const handler = makeConsumer({
    deps: () => someDeps({ settings }),
    sqs: () => new SQSClient(),
  });
  const { batchItemFailures } = await handler({ Records: [...records] }, {} as never);
  const hidden = sqs.commandCalls(ChangeMessageVisibilityCommand).map(({ args }) => args[0].input);
  const dead = sqs.commandCalls(SendMessageCommand).map(({ args }) => args[0].input);
  sqs.restore();
  return { seen, hidden, dead, failed: batchItemFailures.map((each) => each.itemIdentifier) };
}

describe('a queue’s consumer', () => {
  it('works on each record by itself', async () => {
    const { seen, failed } = await consume([
      aRecord('1', good),
      aRecord('2', { name: 'broken' }),
      aRecord('3', good, 4),
    ]);
    expect(seen).toEqual([
      ['good', 1],
      ['broken', 1],
      ['good', 4],
    ]);
    expect(failed).toEqual(['2']);
  });

  it('hides what is to come again for as long as it was asked to', async () => {
    const { hidden, failed } = await consume([aRecord('1', { name: 'later' })]);
    expect(failed).toEqual(['1']);
    expect(hidden).toEqual([
      { QueueUrl: queueUrl, ReceiptHandle: 'receipt-1', VisibilityTimeout: 8 },
    ]);
  });

  it.each(['{"na', '{}', 'null'])('puts %s into the dead-letter queue at once', async (body) => {
    const { seen, dead, failed } = await consume([aRecord('1', body), aRecord('2', good)]);
    expect({ seen, failed }).toEqual({ seen: [['good', 1]], failed: [] });
    expect(dead).toMatchObject([{ QueueUrl: deadQueueUrl, MessageBody: body }]);
    expect(dead[0]?.MessageAttributes?.cause?.StringValue).toMatch(/./);
  });

  it('keeps what it could not put there, and holds up no other', async () => {
    const records = [aRecord('1', '{'), aRecord('2', { name: 'later' }), aRecord('3', good)];
    const { failed } = await consume(records, { isAway: true });
    expect(failed).toEqual(['1', '2']);
  });
});
