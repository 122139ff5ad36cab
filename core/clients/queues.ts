// Sending to SQS. A message is accepted by SQS or the call fails: nothing is dropped in between.

import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
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
