// The table of queues. `infra/` creates queues, dead-letter queues and event sources from it,
// `local/` its SQS endpoint and pollers. Their messages are in queue-messages.ts.

export interface QueueRow {
  /** Also the name of its consumer: functions/consumers/<name>.ts. */
  readonly name: string;
  /** Timeout of the consumer. */
  readonly timeoutSeconds: number;
  /** How long a message without a lease stays hidden after its consumer crashed. */
  readonly visibilitySeconds: number;
  /**
   * Nova waits for messages of this queue, or schedules by what they write. Their consumer renews
   * a short lease (functions/consumers/batch/message-lease.ts), so that a crash delays them by
   * seconds only. The lease costs one more request to SQS, too expensive for heartbeats.
   */
  readonly isLeased?: true;
  /**
   * Deliveries before a message goes to the dead-letter queue. A failure takes pauses of at most
   * 8 s for the first hundred, and of 60 s for the others (core/domain/retry-later.ts): 200
   * deliveries last for more than an hour, 500 for more than five.
   */
  readonly receiveCountMax: number;
  readonly batchSize: number;
  /** Most concurrent consumers: Nova and Placement are shared services. AWS's minimum is 2. */
  readonly concurrencyMax: number;
}

export const queues = [
  {
    name: 'nova-events',
    isLeased: true,
    timeoutSeconds: 25,
    // AWS advises six times the timeout, to save deliveries while the consumer is throttled. This
    // queue allows many deliveries, and nova-compute waits: a short delay is better.
    visibilitySeconds: 30,
    // The consumer paces retries until Nova has given up.
    receiveCountMax: 200,
    batchSize: 10,
    concurrencyMax: 20,
  },
  {
    name: 'inventory-reports',
    timeoutSeconds: 60,
    visibilitySeconds: 360,
    // Other messages of a host wait until the lease of a crashed consumer expires.
    receiveCountMax: 500,
    batchSize: 1,
    concurrencyMax: 20,
  },
  {
    name: 'host-presence',
    timeoutSeconds: 10,
    visibilitySeconds: 60,
    receiveCountMax: 200,
    batchSize: 10,
    concurrencyMax: 10,
  },
  {
    name: 'provider-syncs',
    isLeased: true,
    timeoutSeconds: 60,
    visibilitySeconds: 360,
    // Placement may be down for long, and the compute provider may appear after the agent.
    receiveCountMax: 500,
    batchSize: 1,
    concurrencyMax: 5,
  },
  {
    name: 'host-jobs',
    isLeased: true,
    // The image may have to be copied from Glance first.
    timeoutSeconds: 110,
    // Short, because a bind waits: its deadline leaves time for one more attempt.
    visibilitySeconds: 120,
    // A bind may wait behind a release, both throttled by AWS; the deadline ends it.
    receiveCountMax: 300,
    batchSize: 10,
    // CreateJob is throttled for the whole account, at about ten per second.
    concurrencyMax: 5,
  },
  {
    name: 'job-events',
    isLeased: true,
    timeoutSeconds: 20,
    visibilitySeconds: 30,
    receiveCountMax: 200,
    batchSize: 10,
    concurrencyMax: 20,
  },
  {
    // Events that EventBridge did not take, so that the history does not wait for it.
    name: 'late-events',
    timeoutSeconds: 60,
    // The longest pause between attempts.
    visibilitySeconds: 900,
    // With pauses of 15 minutes: three days, within the four for which a queue keeps a message.
    receiveCountMax: 300,
    batchSize: 10,
    concurrencyMax: 2,
  },
] as const satisfies readonly QueueRow[];

/**
 * The readers of the tables' streams. A stream has no dead-letter queue of its own; unreadable
 * and expired records go to these.
 */
export const streamConsumers = ['changes', 'announcements'] as const;
export type StreamConsumerName = (typeof streamConsumers)[number];

export type QueueName = (typeof queues)[number]['name'];

/** The queue's name in one stage, e.g. `dev-nova-events`; its dead-letter queue adds `-dead`. */
export function queueName(stage: string, name: QueueName): string {
  return `${stage}-${name}`;
}

export function deadLetterQueueName(stage: string, name: QueueName | StreamConsumerName): string {
  return `${stage}-${name}-dead`;
}
