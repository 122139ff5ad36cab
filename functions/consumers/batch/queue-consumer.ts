// The frame of every queue consumer: parses each body, processes each record by itself, and
// returns the records to retry. Records run at least once, in any order. An unreadable message is
// dead-lettered at once: otherwise a host that publishes garbage would delay the reports of other
// hosts.

import { ChangeMessageVisibilityCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type * as z from 'zod';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { type QueueName, type QueueRow, queues } from '#core/contracts/queues/queues.ts';
import { pauseSeconds, RetryLater } from '#core/domain/retry-later.ts';
import { present } from '#core/shapes/derive/present.ts';
import { holdMessages, type MessageLease } from './message-lease.ts';
import { readJson, Unreadable } from './payload.ts';

export interface Delivery {
  /** From 1. */
  readonly attempt: number;
}

export type QueueHandler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

interface ConsumerParts {
  readonly deps: () => ConsumerDeps;
  readonly sqs: () => Pick<SQSClient, 'send'>;
  /** Keeps messages hidden while they are processed; the simulation omits it. */
  readonly hold?: typeof holdMessages;
}

/** Creates a consumer, by default with Lambda's dependencies; a simulation passes its own. */
export type MakeConsumer = (parts?: ConsumerParts) => QueueHandler;

/** @param isAwaited false for a message of a leased queue that nothing waits for: no lease */
export function queueConsumer<Message>(
  queue: QueueName,
  schema: z.ZodType<Message>,
  work: (deps: ConsumerDeps, message: Message, delivery: Delivery) => Promise<void>,
  isAwaited: (message: Message) => boolean = () => true,
): MakeConsumer {
  return (parts = makeParts(queue)) =>
    async (event) => {
      const { settings, log } = parts.deps();
      const url = settings.queueUrls[queue];
      const hold = findQueue(queue).isLeased && parts.hold;
      const leased = hold
        ? event.Records.filter(({ body }) => mayBeAwaited(schema, body, isAwaited))
        : [];
      const lease = hold && leased.length > 0 ? hold(parts.sqs(), url, leased, log) : undefined;
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

function makeParts(queue: QueueName): ConsumerParts {
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

/** An unreadable message is leased too, until it is dead-lettered. */
function mayBeAwaited<Message>(
  schema: z.ZodType<Message>,
  body: string,
  isAwaited: (message: Message) => boolean,
): boolean {
  try {
    return isAwaited(readJson(schema, body));
  } catch {
    return true;
  }
}

/** True if the message is done. */
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
    const requestId = readOrigin(message);
    if (requestId) log = log.child({ request_id: requestId });
    await work({ ...deps, log, ...present({ requestId }) }, message, { attempt });
    parts.lease?.end(record);
    return true;
  } catch (error) {
    parts.lease?.end(record);
    const isLast = attempt >= findQueue(queue).receiveCountMax;
    const isDone = error instanceof Unreadable;
    if (isDone || isLast || !(error instanceof RetryLater)) {
      const message = isDone ? 'Message unreadable' : 'Message processing failed';
      log.error(message, { error, attempt, is_last: isLast, body: record.body.slice(0, 500) });
    }
    const { queueUrls, deadQueueUrls } = deps.settings;
    try {
      if (isDone) {
        await deadLetter(parts.sqs(), deadQueueUrls[queue], record, error);
        return true;
      }
      const seconds =
        error instanceof RetryLater ? error.seconds : pauseSeconds(attempt, deps.random());
      await hide(parts.sqs(), queueUrls[queue], record, seconds);
      return false;
    } catch (fault) {
      // The message is delivered again after the queue's visibility time; the rest of its batch
      // is not.
      log.warn('Message visibility not changed', { error: fault });
      return false;
    }
  }
}

const rows = new Map<QueueName, QueueRow>(queues.map((row) => [row.name, row]));

function findQueue(queue: QueueName): QueueRow {
  return rows.get(queue) as QueueRow;
}

/** Dead-letters the message with its cause, for an operator. */
async function deadLetter(
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

/** The request id in the message's body, if it has one. */
function readOrigin(body: unknown): string | undefined {
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
