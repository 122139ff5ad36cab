// The table of queues. `infra/` makes queues, dead-letter queues and event sources of it, `local/`
// its SQS endpoint and pollers. What travels in them is in queue-messages.ts.

export interface QueueRow {
  /** Also the name of its consumer: functions/consumers/<name>.ts. */
  readonly name: string;
  /** What the consumer may take. */
  readonly timeoutSeconds: number;
  /** How long a message stays hidden after a failure, and after a kill where it has no lease. */
  readonly visibilitySeconds: number;
  /**
   * Nova waits for it. While such a message is worked on, the consumer renews a short lease
   * (functions/consumers/message-lease.ts), so that a killed consumer costs seconds only. The lease is
   * one more request to SQS, too dear for hosts' heartbeats.
   */
  readonly isAwaited?: true;
  /** Deliveries before a message goes to the dead-letter queue. */
  readonly receiveCountMax: number;
  readonly batchSize: number;
  /** Bound on consumers at once: Nova and Placement are shared services. AWS's least is 2. */
  readonly concurrencyMax: number;
}

export const queues = [
  {
    name: 'nova-events',
    isAwaited: true,
    timeoutSeconds: 25,
    // AWS advises six times the timeout, to spare a message its deliveries while the consumer is
    // throttled. Here they are many, and nova-compute waits: sooner is better.
    visibilitySeconds: 30,
    // Retries are paced by the consumer until Nova has given up.
    receiveCountMax: 60,
    batchSize: 10,
    concurrencyMax: 20,
  },
  {
    name: 'inventory-reports',
    timeoutSeconds: 60,
    visibilitySeconds: 360,
    // A consumer that dies leaves its lease to expire, and others wait for it.
    receiveCountMax: 100,
    batchSize: 1,
    concurrencyMax: 20,
  },
  {
    name: 'host-presence',
    timeoutSeconds: 10,
    visibilitySeconds: 60,
    receiveCountMax: 20,
    batchSize: 10,
    concurrencyMax: 10,
  },
  {
    name: 'provider-syncs',
    timeoutSeconds: 60,
    visibilitySeconds: 360,
    // Placement may be away for long, and the compute provider may come after the agent.
    receiveCountMax: 200,
    batchSize: 1,
    concurrencyMax: 5,
  },
  {
    name: 'host-jobs',
    isAwaited: true,
    // An image may have to come from Glance first.
    timeoutSeconds: 110,
    // As above: a bind waits. Its deadline leaves time for one more attempt.
    visibilitySeconds: 120,
    // A bind waits behind a release, both behind AWS's throttling; the deadline ends it.
    receiveCountMax: 300,
    batchSize: 10,
    // CreateJob is throttled for the whole account, at some ten a second.
    concurrencyMax: 5,
  },
  {
    name: 'job-events',
    isAwaited: true,
    timeoutSeconds: 20,
    visibilitySeconds: 30,
    receiveCountMax: 60,
    batchSize: 10,
    concurrencyMax: 20,
  },
] as const satisfies readonly QueueRow[];

/**
 * Who reads the tables' streams. A stream has no dead-letter queue of its own; what cannot be read, or
 * has expired before it could be worked on, ends in these.
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
