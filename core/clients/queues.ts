// Sending to SQS. A message is accepted by SQS or the call fails: nothing is dropped in between.

import { SendMessageBatchCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { QueueName } from '../contracts/queues.ts';

export interface Queues {
  send(queue: QueueName, messages: readonly object[]): Promise<void>;
}

/** SQS takes ten messages at once. */
const batchMax = 10;

export function createQueues(client: SQSClient, urls: Readonly<Record<QueueName, string>>): Queues {
  return {
    async send(queue, messages) {
      for (let from = 0; from < messages.length; from += batchMax) {
        const batch = messages.slice(from, from + batchMax);
        const { Failed = [] } = await client.send(
          new SendMessageBatchCommand({
            QueueUrl: urls[queue],
            Entries: batch.map((message, index) => ({
              Id: String(index),
              MessageBody: JSON.stringify(message),
            })),
          }),
        );
        if (Failed.length > 0) {
          throw new Error(
            `SQS refused ${Failed.length} messages to ${queue}: ${Failed[0]?.Message}`,
          );
        }
      }
    },
  };
}

/** Keeps for an operator what a stream's consumer will never work on; the cause is part of it. */
export type DeadLetter = (what: {
  readonly cause: string;
  readonly [more: string]: unknown;
}) => Promise<void>;

/** Well below what a message may be. */
const asideBytesMax = 200_000;

export function createDeadLetter(client: Pick<SQSClient, 'send'>, url: string): DeadLetter {
  return async (what) => {
    const text = asciiJson(what);
    const cause = what.cause.slice(0, 1000);
    const body = text.length > asideBytesMax ? asciiJson({ cause }) : text;
    await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body }));
  };
}

/** So a character is a byte, and none of those is in it that SQS refuses. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
