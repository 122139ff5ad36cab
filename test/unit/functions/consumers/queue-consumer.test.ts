import { ChangeMessageVisibilityCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { RetryLater } from '#core/domain/retry-later.ts';
import { queueConsumer } from '#functions/consumers/queue-consumer.ts';
import { someDeps, someSettings } from '#test/support/deps.ts';

const schema = z.object({ name: z.string() });
const queueUrl = 'http://127.0.0.1:1/queue';

function aRecord(id: string, body: unknown, count = 1): SQSRecord {
  return {
    messageId: id,
    receiptHandle: `receipt-${id}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    attributes: { ApproximateReceiveCount: String(count) },
  } as SQSRecord;
}

/** Consumes the records; the work throws what their name asks for. */
async function consume(...records: SQSRecord[]) {
  const sqs = mockClient(SQSClient);
  const seen: [name: string, attempt: number][] = [];
  const settings = {
    ...someSettings,
    queueUrls: { ...someSettings.queueUrls, 'nova-events': queueUrl },
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
  const { batchItemFailures } = await handler({ Records: records }, {} as never);
  const hidden = sqs.commandCalls(ChangeMessageVisibilityCommand).map(({ args }) => args[0].input);
  sqs.restore();
  return { seen, hidden, failed: batchItemFailures.map((each) => each.itemIdentifier) };
}

describe('a queue’s consumer', () => {
  it('works on each record by itself', async () => {
    const { seen, failed } = await consume(
      aRecord('1', { name: 'good' }),
      aRecord('2', { name: 'broken' }),
      aRecord('3', { name: 'good' }, 4),
    );
    expect(seen).toEqual([
      ['good', 1],
      ['broken', 1],
      ['good', 4],
    ]);
    expect(failed).toEqual(['2']);
  });

  it('hides what is to come again for as long as it was asked to', async () => {
    const { hidden, failed } = await consume(aRecord('1', { name: 'later' }));
    expect(failed).toEqual(['1']);
    expect(hidden).toEqual([
      { QueueUrl: queueUrl, ReceiptHandle: 'receipt-1', VisibilityTimeout: 8 },
    ]);
  });

  it.each(['{"na', '{}', 'null'])('leaves %s to the dead-letter queue', async (body) => {
    const { seen, hidden, failed } = await consume(aRecord('1', body));
    expect({ seen, hidden, failed }).toEqual({ seen: [], hidden: [], failed: ['1'] });
  });
});
