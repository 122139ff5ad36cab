// The shell around every queue's consumer: parse the body, run the work for each record by itself,
// and report which records have to come again. Each runs at least once, in any order. What cannot
// be read goes to the dead-letter queue at once: if it came again and again, a host that publishes
// rubbish would have consumers work on that instead of on what others report.

import { ChangeMessageVisibilityCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type * as z from 'zod';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { type QueueName, type QueueRow, queues } from '#core/contracts/queues.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { holdMessages, type MessageLease } from './message-lease.ts';
import { readJson, Unreadable } from './payload.ts';

export interface Delivery {
  /** From 1. */
  readonly attempt: number;
}

export type QueueHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

export interface ConsumerParts {
  readonly deps: () => ConsumerDeps;
  readonly sqs: () => Pick<SQSClient, 'send'>;
  /** Keeps messages hidden while they are worked on; a simulation has no need of it. */
  readonly hold?: typeof holdMessages;
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
      const { settings, log } = parts.deps();
      const url = settings.queueUrls[queue];
      const hold = rowOf(queue).isAwaited && parts.hold;
      const lease = hold ? hold(parts.sqs(), url, event.Records, log) : undefined;
      const failed = await Promise.all(
        event.Records.map(async (record) => {
          const isDone = await consume(queue, schema, work, { ...parts, lease }, record);
          return isDone ? [] : [{ itemIdentifier: record.messageId }];
        }),
      );
      await lease?.stop();
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
    hold: holdMessages,
  };
}

/** Whether the message is done with. */
async function consume<Message>(
  queue: QueueName,
  schema: z.ZodType<Message>,
  work: (deps: ConsumerDeps, message: Message, delivery: Delivery) => Promise<void>,
  parts: ConsumerParts & { readonly lease: MessageLease | undefined },
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
    parts.lease?.end(record);
    return true;
  } catch (error) {
    parts.lease?.end(record);
    const isLast = attempt >= rowOf(queue).receiveCountMax;
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
      // The lease ends within seconds: what has failed comes again after the queue's own time.
      const seconds = error instanceof RetryLater ? error.seconds : rowOf(queue).visibilitySeconds;
      if (!isDone) await hide(parts.sqs(), queueUrls[queue], record, seconds);
      return isDone;
    } catch (fault) {
      // It comes again after the queue's visibility, and no other of its batch with it.
      log.warn('SQS was not told what becomes of the message.', { error: fault });
      return false;
    }
  }
}

const rows = new Map<QueueName, QueueRow>(queues.map((row) => [row.name, row]));

function rowOf(queue: QueueName): QueueRow {
  return rows.get(queue) as QueueRow;
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
