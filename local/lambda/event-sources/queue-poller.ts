// A queue's event source mapping: receives, invokes, and deletes messages that succeeded. A
// message whose consumer failed stays hidden until its visibility timeout, unless the consumer
// changed the timeout.
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html

import { setTimeout as delay } from 'node:timers/promises';
import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { type Log, silentLog } from '#core/log.ts';
import { invoke, type LambdaFunction } from '#local/lambda/lambda.ts';
import type { Running } from '#local/ports.ts';
import { retryDelayMs } from './retry-delay.ts';

/** The result is interpreted as by Lambda; no result is a result, too. */
export type QueueConsumer = LambdaFunction<SQSEvent, unknown>;

interface QueuePollerOptions {
  readonly sqs: SQSClient;
  readonly queueUrl: string;
  readonly consumer: QueueConsumer;
  readonly batchSize: number;
  /** How many invocations run at once. */
  readonly concurrencyMax: number;
  readonly log?: Log;
}

export function startQueuePoller(options: QueuePollerOptions): Running {
  const { sqs, queueUrl, consumer, log = silentLog } = options;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  async function poll(): Promise<void> {
    let arn: string | undefined;
    for (let failures = 0; !stopping.signal.aborted; ) {
      if (running.size >= options.concurrencyMax) {
        await Promise.race(running);
        continue;
      }
      try {
        // The queues may be down when the poller starts.
        arn ??= await queueArnOf(sqs, queueUrl, stopping.signal);
        const messages = await receive();
        failures = 0;
        if (messages.length === 0) continue;
        const invocation = consume(messages, arn).finally(() => running.delete(invocation));
        running.add(invocation);
      } catch (error) {
        if (stopping.signal.aborted) break;
        log.warn('Receive failed', { queue: consumer.name, error });
        await delay(retryDelayMs(failures++), undefined, { signal: stopping.signal }).catch(
          () => {},
        );
      }
    }
  }

  async function receive(): Promise<Message[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: Math.min(options.batchSize, 10),
      WaitTimeSeconds: 20,
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['All'],
    });
    const { Messages = [] } = await sqs.send(command, { abortSignal: stopping.signal });
    return Messages;
  }

  async function consume(messages: readonly Message[], arn: string): Promise<void> {
    const records = messages.map((message) => sqsRecord(message, arn));
    let failed: ReadonlySet<string>;
    try {
      failed = failedMessages(records, await invoke(consumer, { Records: records }));
    } catch (error) {
      log.error('Consumer failed', { queue: consumer.name, error });
      return;
    }
    const done = records.filter(({ messageId }) => !failed.has(messageId));
    if (done.length === 0) return;
    // A failed delete causes one more delivery, which consumers expect.
    await sqs
      .send(
        new DeleteMessageBatchCommand({
          QueueUrl: queueUrl,
          Entries: done.map(({ receiptHandle }, at) => ({
            Id: `${at}`,
            ReceiptHandle: receiptHandle,
          })),
        }),
      )
      .catch((error: unknown) => log.warn('Delete failed', { queue: consumer.name, error }));
  }

  // If it rejects, the process ends, and is started again.
  const polling = poll();
  return {
    /** Waits for running consumers, so that no message is redelivered in vain. */
    stop: async () => {
      stopping.abort();
      await polling;
      await Promise.all(running);
    },
  };
}

async function queueArnOf(sqs: SQSClient, url: string, abortSignal: AbortSignal): Promise<string> {
  const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] });
  return (await sqs.send(command, { abortSignal })).Attributes?.QueueArn ?? '';
}

/**
 * The messages to redeliver. Like Lambda, it takes an invalid report for the failure of all
 * messages: an identifier that is empty, missing, or of no message in the batch.
 */
export function failedMessages(
  records: readonly SQSRecord[],
  response: unknown,
): ReadonlySet<string> {
  const failures = (response as Partial<SQSBatchResponse> | null | undefined)?.batchItemFailures;
  const ids = new Set((failures ?? []).map(({ itemIdentifier }) => itemIdentifier));
  const received = new Set(records.map(({ messageId }) => messageId));
  return [...ids].every((id) => received.has(id)) ? ids : received;
}

function sqsRecord(message: Message, arn: string): SQSRecord {
  const attributes = Object.entries(message.MessageAttributes ?? {}).map(([name, value]) => [
    name,
    {
      dataType: value.DataType ?? 'String',
      ...(value.StringValue !== undefined && { stringValue: value.StringValue }),
      ...(value.BinaryValue !== undefined && {
        binaryValue: Buffer.from(value.BinaryValue).toString('base64'),
      }),
      stringListValues: [],
      binaryListValues: [],
    },
  ]);
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: { ...(message.Attributes as unknown as SQSRecord['attributes']) },
    messageAttributes: Object.fromEntries(attributes),
    md5OfBody: message.MD5OfBody ?? '',
    eventSource: 'aws:sqs',
    eventSourceARN: arn,
    awsRegion: arn.split(':')[3] ?? '',
  };
}
