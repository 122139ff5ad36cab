// Sends to SQS. The call fails unless SQS has accepted every message.

import { SendMessageBatchCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { QueueName } from '#core/contracts/queues/queues.ts';
import { present } from '#core/shapes/derive/present.ts';

export interface Queues {
  /** @param delaySeconds how long they stay hidden; at most 900 */
  send(queue: QueueName, messages: readonly object[], delaySeconds?: number): Promise<void>;
}

/** SQS takes ten messages at once. */
const batchMax = 10;

export function createQueues(client: SQSClient, urls: Readonly<Record<QueueName, string>>): Queues {
  return {
    async send(queue, messages, delaySeconds) {
      for (let from = 0; from < messages.length; from += batchMax) {
        const batch = messages.slice(from, from + batchMax);
        const { Failed = [] } = await client.send(
          new SendMessageBatchCommand({
            QueueUrl: urls[queue],
            Entries: batch.map((message, index) => ({
              Id: String(index),
              MessageBody: JSON.stringify(message),
              ...present({ DelaySeconds: delaySeconds }),
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

/** Dead-letters a stream record that can never be processed, with its cause, for an operator. */
export type DeadLetter = (letter: {
  readonly cause: string;
  readonly [more: string]: unknown;
}) => Promise<void>;

/** Below the largest size of a message. */
const deadLetterBytesMax = 200_000;

export function createDeadLetter(client: Pick<SQSClient, 'send'>, url: string): DeadLetter {
  return async (letter) => {
    const text = asciiJson(letter);
    const cause = letter.cause.slice(0, 1000);
    const body = text.length > deadLetterBytesMax ? asciiJson({ cause }) : text;
    await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body }));
  };
}

/** Escaped to ASCII: a character is a byte, and SQS accepts all of them. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
