import { Duration } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import {
  deadLetterQueueName,
  type QueueName,
  queueName,
  queues,
} from '#core/contracts/queues/queues.ts';
import { constructId } from '#infra/construct-id.ts';
import { acknowledge } from '#infra/nag.ts';
import type { DeploymentSettings } from '#infra/settings/settings.ts';

export type Queues = Readonly<Record<QueueName, Queue>>;

/** The queues of core/contracts/queues/queues.ts, each with a dead-letter queue. */
export function createQueues(scope: Construct, { stage }: DeploymentSettings): Queues {
  return Object.fromEntries(
    queues.map((row) => {
      const id = constructId(row.name);
      const dead = deadQueue(scope, `${id}DeadQueue`, deadLetterQueueName(stage, row.name));
      const queue = new Queue(scope, `${id}Queue`, {
        queueName: queueName(stage, row.name),
        visibilityTimeout: Duration.seconds(row.visibilitySeconds),
        // Shorter than the dead-letter queue's, because a message keeps its first sent time.
        retentionPeriod: Duration.days(4),
        deadLetterQueue: { queue: dead, maxReceiveCount: row.receiveCountMax },
        ...guarded,
      });
      return [row.name, queue];
    }),
  ) as Record<QueueName, Queue>;
}

/** Takes messages that come from no queue of ours, so it is no queue's dead-letter queue. */
export function queueOfLosses(scope: Construct, id: string, name: string): Queue {
  const queue = deadQueue(scope, id, name);
  acknowledge(queue, 'SQS3', 'It is the dead-letter queue of a stream or of IoT rules.');
  return queue;
}

/** Keeps undeliverable messages for an operator, as long as SQS allows. */
function deadQueue(scope: Construct, id: string, name: string): Queue {
  return new Queue(scope, id, {
    queueName: name,
    retentionPeriod: Duration.days(14),
    ...guarded,
  });
}

const guarded = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
