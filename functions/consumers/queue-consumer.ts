// The shell around every queue's consumer: parse the body, run the work for each record by itself,
// and report which records have to come again. Each runs at least once, in any order. What cannot be
// read goes to the dead-letter queue at once: if it came again and again, a host that publishes rubbish
// would have consumers work on that instead of on what others report.

import { ChangeMessageVisibilityCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type * as z from 'zod';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { type QueueName, queues } from '#core/contracts/queues.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { readJson, Unreadable } from './payload.ts';

export interface Delivery {
  /** From 1. */
  readonly attempt: number;
}

export type QueueHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

export interface ConsumerParts {
  readonly deps: () => ConsumerDeps;
  readonly sqs: () => Pick<SQSClient, 'send'>;
}

/** A consumer without the world that it works in: its own in Lambda, another in a simulation. */
export type MakeConsumer = (parts?: ConsumerParts) => QueueHandler;

export function queueConsumer<Message>(
  queue: QueueName,
  schema: z.ZodType<Message>,
  work: (deps: ConsumerDeps, message: Message, delivery: Delivery) => Promise<void>,
): MakeConsumer {
  return (parts = partsOf(queue)) =>
    async (event) => {
      const failed = await Promise.all(
        event.Records.map(async (record) => {
          const isDone = await consume(queue, schema, work, parts, record);
          return isDone ? [] : [{ itemIdentifier: record.messageId }];
        }),
      );
      return { batchItemFailures: failed.flat() };
    };
}

function partsOf(queue: QueueName): ConsumerParts {
  let deps: ConsumerDeps | undefined;
  let sqs: SQSClient | undefined;
  return {
    deps: () => {
      deps ??= createConsumerDeps(queue);
      return deps;
    },
    sqs: () => {
      sqs ??= new SQSClient();
      return sqs;
    },
  };
}

/** Whether the message is done with. */
async function consume<Message>(
  queue: QueueName,
  schema: z.ZodType<Message>,
  work: (deps: ConsumerDeps, message: Message, delivery: Delivery) => Promise<void>,
  parts: ConsumerParts,
  record: SQSRecord,
): Promise<boolean> {
  const deps = parts.deps();
  const attempt = Number(record.attributes.ApproximateReceiveCount);
  let log = deps.log.child({ message_id: record.messageId });
  try {
    const message = readJson(schema, record.body);
    const requestId = originOf(message);
    if (requestId) log = log.child({ request_id: requestId });
    await work({ ...deps, log, ...(requestId && { requestId }) }, message, { attempt });
    return true;
  } catch (error) {
    const isLast = attempt >= receiveCountMax(queue);
    const isDone = error instanceof Unreadable;
    if (isDone || isLast || !(error instanceof RetryLater)) {
      const message = isDone
        ? 'The message cannot be read.'
        : 'The message could not be worked on.';
      log.error(message, { error, attempt, is_last: isLast, body: record.body.slice(0, 500) });
    }
    const { queueUrls, deadQueueUrls } = deps.settings;
    try {
      if (isDone) await setAside(parts.sqs(), deadQueueUrls[queue], record, error);
      if (error instanceof RetryLater) {
        await hide(parts.sqs(), queueUrls[queue], record, error.seconds);
      }
      return isDone;
    } catch (fault) {
      // It comes again after the queue's visibility, and no other of its batch with it.
      log.warn('SQS was not told what becomes of the message.', { error: fault });
      return false;
    }
  }
}

function receiveCountMax(queue: QueueName): number {
  return queues.find(({ name }) => name === queue)?.receiveCountMax ?? Number.POSITIVE_INFINITY;
}

/** Keeps the message where an operator finds it, with its cause. */
async function setAside(
  sqs: Pick<SQSClient, 'send'>,
  deadQueueUrl: string,
  record: SQSRecord,
  { message }: Unreadable,
): Promise<void> {
  const cause = { DataType: 'String', StringValue: message || 'unknown' };
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: deadQueueUrl,
      MessageBody: record.body,
      MessageAttributes: { cause },
    }),
  );
}

/** The request that led to the message, where it says so. */
function originOf(body: unknown): string | undefined {
  const { request_id: requestId } = body as { request_id?: unknown };
  return typeof requestId === 'string' ? requestId : undefined;
}

async function hide(
  sqs: Pick<SQSClient, 'send'>,
  queueUrl: string,
  record: SQSRecord,
  seconds: number,
) {
  await sqs.send(
    new ChangeMessageVisibilityCommand({
      QueueUrl: queueUrl,
      ReceiptHandle: record.receiptHandle,
      VisibilityTimeout: Math.ceil(seconds),
    }),
  );
}
