// A fake SQS: delivers each message at least once, in any order, redelivers it until it is
// deleted, and moves it to the dead-letter queue in the end. Each delivery runs in a process of
// its own.

import type { SQSEvent } from 'aws-lambda';
import { type QueueName, type QueueRow, queues } from '#core/contracts/queues/queues.ts';
import type { MakeConsumer, QueueHandler } from '#functions/consumers/batch/queue-consumer.ts';
import { makeConsumer as hostJobs } from '#functions/consumers/host-jobs.ts';
import { makeConsumer as hostPresence } from '#functions/consumers/host-presence.ts';
import { makeConsumer as inventoryReports } from '#functions/consumers/inventory-reports.ts';
import { makeConsumer as jobEvents } from '#functions/consumers/job-events.ts';
import { makeConsumer as lateEvents } from '#functions/consumers/late-events.ts';
import { makeConsumer as novaEvents } from '#functions/consumers/nova-events.ts';
import { makeConsumer as providerSyncs } from '#functions/consumers/provider-syncs.ts';
import type { Faults } from '#simulation/faults.ts';
import type { Random } from '#simulation/random.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';

interface Message {
  readonly id: string;
  readonly body: string;
  visibleAt: number;
  receives: number;
  isDeleted: boolean;
}

export const makeConsumers: Readonly<Record<QueueName, MakeConsumer>> = {
  'nova-events': novaEvents,
  'inventory-reports': inventoryReports,
  'host-presence': hostPresence,
  'provider-syncs': providerSyncs,
  'host-jobs': hostJobs,
  'job-events': jobEvents,
  'late-events': lateEvents,
};

export interface SimulatedQueues {
  put(queue: QueueName, body: string, delaySeconds?: number): void;
  /** ChangeMessageVisibility. */
  hide(messageId: string, seconds: number): void;
  /** How many messages are not deleted. */
  waiting(): number;
  readonly dead: readonly { readonly queue: QueueName; readonly body: string }[];
}

interface QueueParts {
  /** A message whose consumer died is lost, as without the visibility timeout. */
  readonly isLossy: boolean;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly faults: Faults;
  /** Makes the consumer for the process of one delivery. */
  readonly consumer: (queue: QueueName, process: Process) => QueueHandler;
  readonly spawn: (name: string) => Process;
}

export function createQueues({
  timeline,
  random,
  faults,
  consumer,
  spawn,
  isLossy,
}: QueueParts): SimulatedQueues {
  const messages = new Map<
    string,
    { readonly queue: QueueRow & { name: QueueName }; readonly message: Message }
  >();
  const running = new Map<QueueName, number>();
  const dead: { queue: QueueName; body: string }[] = [];
  let numbers = 0;

  function wake(id: string, atMs: number): void {
    timeline.at(atMs, () => deliver(id));
  }

  function deliver(id: string): void {
    const entry = messages.get(id);
    if (!entry || entry.message.visibleAt > timeline.now()) return;
    const { queue } = entry;
    if ((running.get(queue.name) ?? 0) >= queue.concurrencyMax) {
      wake(id, timeline.now() + 50);
      return;
    }
    const others = [...messages.values()]
      .filter((each) => each.queue === queue && each.message.visibleAt <= timeline.now())
      .flatMap(({ message }) => (message.id === id ? [] : [message]));
    const batch = [entry.message, ...others].slice(0, queue.batchSize);
    const received = batch.filter((message) => receive(queue, message));
    if (received.length > 0) invoke(queue, received);
  }

  function receive(queue: QueueRow & { name: QueueName }, message: Message): boolean {
    if (message.receives >= queue.receiveCountMax) {
      messages.delete(message.id);
      dead.push({ queue: queue.name, body: message.body });
      return false;
    }
    message.receives += 1;
    message.visibleAt = timeline.now() + queue.visibilitySeconds * 1000;
    wake(message.id, message.visibleAt);
    return true;
  }

  function invoke(queue: QueueRow & { name: QueueName }, received: readonly Message[]): void {
    const process = spawn(queue.name);
    running.set(queue.name, (running.get(queue.name) ?? 0) + 1);
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      running.set(queue.name, (running.get(queue.name) ?? 1) - 1);
    };
    process.onDeath = () => {
      over();
      if (isLossy) for (const { id } of received) messages.delete(id);
    };
    timeline.at(timeline.now() + queue.timeoutSeconds * 1000, () => {
      if (!isOver) timeline.kill(process);
    });
    const event = { Records: received.map((message) => recordOf(message)) } as SQSEvent;
    void consumer(queue.name, process)(event, {} as never).then((answer) => {
      over();
      const failed = new Set(answer.batchItemFailures.map((each) => each.itemIdentifier));
      // The poller deletes the messages, so a function that dies after its answer cannot prevent
      // it.
      for (const { id } of received) {
        if (!failed.has(id) && !faults.happens('message twice')) messages.delete(id);
      }
    }, over);
  }

  return {
    dead,
    waiting: () => messages.size,
    put: (name, body, delaySeconds = 0) => {
      numbers += 1;
      const id = `message-${numbers}`;
      const queue = queues.find((row) => row.name === name) as QueueRow & { name: QueueName };
      const lateMs = faults.happens('message late') ? random.between(1000, 30_000) : 0;
      const visibleAt = timeline.now() + random.between(1, 40) + lateMs + delaySeconds * 1000;
      messages.set(id, {
        queue,
        message: { id, body, visibleAt, receives: 0, isDeleted: false },
      });
      wake(id, visibleAt);
    },
    hide: (id, seconds) => {
      const entry = messages.get(id);
      if (!entry) return;
      entry.message.visibleAt = timeline.now() + seconds * 1000;
      wake(id, entry.message.visibleAt);
    },
  };
}

function recordOf({ id, body, receives }: Message): object {
  return {
    messageId: id,
    receiptHandle: id,
    body,
    attributes: { ApproximateReceiveCount: String(receives) },
  };
}
