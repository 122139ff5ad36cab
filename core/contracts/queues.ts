// The table of queues. `infra/` makes queues, dead-letter queues and event sources of it, `local/`
// its SQS endpoint and pollers. What travels in them is in queue-messages.ts.

export interface QueueRow {
  /** Also the name of its consumer: functions/consumers/<name>.ts. */
  readonly name: string;
  /** What the consumer may take, in seconds. Visibility is six times that, as AWS advises. */
  readonly timeoutSeconds: number;
  /** Deliveries before a message goes to the dead-letter queue. */
  readonly receiveCountMax: number;
  readonly batchSize: number;
  /** Bound on consumers at once: Nova and Placement are shared services. AWS's least is 2. */
  readonly concurrencyMax: number;
}

export const queues = [
  // What waits here waits for Nova; retries are paced by the consumer until Nova has given up.
  {
    name: 'nova-events',
    timeoutSeconds: 30,
    receiveCountMax: 60,
    batchSize: 10,
    concurrencyMax: 20,
  },
  {
    name: 'inventory-reports',
    timeoutSeconds: 60,
    receiveCountMax: 20,
    batchSize: 1,
    concurrencyMax: 20,
  },
  {
    name: 'host-presence',
    timeoutSeconds: 10,
    receiveCountMax: 20,
    batchSize: 10,
    concurrencyMax: 10,
  },
  // Placement may be away for long, and the compute provider may come after the agent.
  {
    name: 'provider-syncs',
    timeoutSeconds: 60,
    receiveCountMax: 200,
    batchSize: 1,
    concurrencyMax: 5,
  },
] as const satisfies readonly QueueRow[];

export type QueueName = (typeof queues)[number]['name'];

/** The queue's name in one stage, e.g. `dev-nova-events`; its dead-letter queue adds `-dead`. */
export function queueName(stage: string, name: QueueName): string {
  return `${stage}-${name}`;
}

export function deadLetterQueueName(stage: string, name: QueueName): string {
  return `${queueName(stage, name)}-dead`;
}

/** Seconds a message stays hidden while a consumer works on it. */
export function visibilitySeconds(row: QueueRow): number {
  return row.timeoutSeconds * 6;
}
