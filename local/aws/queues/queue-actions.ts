// The actions on queues. Standard queues only: the system uses no FIFO queue, and a request for
// one is refused.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Operations.html

import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { type Action, action } from './action.ts';
import { SqsError } from './errors.ts';
import {
  checkAttributes,
  defaultAttributes,
  parseRedrivePolicy,
  type QueueAttributes,
  queueArn,
  queueNameFromArn,
  queueNameFromUrl,
  queuePath,
} from './queue-attributes.ts';
import type { QueueStorage } from './storage.ts';

const attributes = z.record(z.string(), z.string());
const byUrl = { QueueUrl: z.string() };
const queueName = z.string().regex(/^[a-zA-Z0-9_-]{1,80}$/, 'not a valid name of a standard queue');

export const queueActions: Readonly<Record<string, Action>> = {
  CreateQueue: action(
    z.object({ QueueName: queueName, Attributes: attributes.default({}) }),
    ({ storage, origin }, { QueueName: name, Attributes: attributes }) => {
      checkAttributes(attributes);
      checkDeadLetterQueue(storage, attributes);
      const existing = storage.findQueue(name);
      if (existing === undefined) {
        storage.createQueue(name, { ...defaultAttributes, ...attributes });
      } else if (
        Object.entries(attributes).some(([key, value]) => existing.attributes[key] !== value)
      ) {
        throw new SqsError(
          'QueueNameExists',
          'A queue already exists with the same name and a different value for an attribute.',
        );
      }
      return { QueueUrl: origin + queuePath(name) };
    },
  ),

  GetQueueUrl: action(z.object({ QueueName: z.string() }), ({ storage, origin }, input) => ({
    QueueUrl: origin + queuePath(storage.queue(input.QueueName).name),
  })),

  ListQueues: action(
    z.object({ QueueNamePrefix: z.string().default('') }),
    ({ storage, origin }, { QueueNamePrefix: prefix }) => ({
      QueueUrls: storage
        .queueNames()
        .filter((name) => name.startsWith(prefix))
        .map((name) => origin + queuePath(name)),
    }),
  ),

  DeleteQueue: action(z.object(byUrl), ({ storage }, { QueueUrl }) => {
    storage.deleteQueue(storage.queue(queueNameFromUrl(QueueUrl)).name);
    return {};
  }),

  PurgeQueue: action(z.object(byUrl), ({ storage }, { QueueUrl }) => {
    storage.purge(storage.queue(queueNameFromUrl(QueueUrl)).name);
    return {};
  }),

  GetQueueAttributes: action(
    z.object({ ...byUrl, AttributeNames: z.array(z.string()).default([]) }),
    ({ storage }, { QueueUrl, AttributeNames }) => {
      const queue = storage.queue(queueNameFromUrl(QueueUrl));
      const counts = storage.counts(queue.name);
      const all: QueueAttributes = {
        ...queue.attributes,
        QueueArn: queueArn(queue.name),
        ApproximateNumberOfMessages: `${counts.visible}`,
        ApproximateNumberOfMessagesNotVisible: `${counts.hidden}`,
        ApproximateNumberOfMessagesDelayed: `${counts.delayed}`,
        CreatedTimestamp: `${Math.floor(queue.createdAtMs / 1000)}`,
        LastModifiedTimestamp: `${Math.floor(queue.modifiedAtMs / 1000)}`,
      };
      const isWanted = (name: string) =>
        AttributeNames.includes('All') || AttributeNames.includes(name);
      return { Attributes: Object.fromEntries(Object.entries(all).filter(([n]) => isWanted(n))) };
    },
  ),

  SetQueueAttributes: action(
    z.object({ ...byUrl, Attributes: attributes }),
    ({ storage }, { QueueUrl, Attributes: attributes }) => {
      const queue = storage.queue(queueNameFromUrl(QueueUrl));
      checkAttributes(attributes);
      checkDeadLetterQueue(storage, attributes);
      storage.setAttributes(queue.name, { ...queue.attributes, ...attributes });
      return {};
    },
  ),

  // AWS moves the messages in the background; the fake moves them before it answers.
  StartMessageMoveTask: action(
    z.object({ SourceArn: z.string(), DestinationArn: z.string().optional() }),
    ({ storage, arrivals }, { SourceArn, DestinationArn }) => {
      const source = queueNameFromArn(SourceArn);
      const target = DestinationArn === undefined ? undefined : queueNameFromArn(DestinationArn);
      for (const name of [source, ...(target === undefined ? [] : [target])]) {
        if (storage.findQueue(name) === undefined) {
          throw new SqsError('ResourceNotFoundException', `The queue ${name} does not exist.`);
        }
      }
      for (const queue of storage.redrive(source, target)) arrivals.announce(queue);
      return { TaskHandle: Buffer.from(randomUUID()).toString('base64') };
    },
  ),
};

function checkDeadLetterQueue(storage: QueueStorage, attributes: QueueAttributes): void {
  const policy = parseRedrivePolicy(attributes.RedrivePolicy);
  if (policy !== undefined && storage.findQueue(policy.deadLetterQueue) === undefined) {
    throw new SqsError(
      'InvalidParameterValue',
      'Value for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.',
    );
  }
}
