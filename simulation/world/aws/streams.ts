// Fake streams of the tables: deliver every committed change, in order, to one consumer at a time,
// and redeliver a batch that failed.

import { marshall } from '@aws-sdk/util-dynamodb';
import type { DynamoDBRecord } from 'aws-lambda';
import type { StreamConsumerName } from '#core/contracts/queues/queues.ts';
import type { StreamHandler } from '#functions/consumers/changes.ts';
import type { RowChange } from '#simulation/database/memory-database.ts';
import type { Faults } from '#simulation/faults.ts';
import type { Random } from '#simulation/random.ts';
import { invokes, patternsOf } from '#simulation/stream-filter.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';

const batchMax = 25;
const retryMs = 1000;
const timeoutMs = 30_000;

export interface SimulatedStreams {
  add(change: RowChange): void;
  waiting(): number;
}

export interface StreamParts {
  /** A batch whose consumer died is lost. */
  readonly isLossy: boolean;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly faults: Faults;
  readonly consumer: (process: Process) => StreamHandler;
  readonly name: StreamConsumerName;
  /** Records of the next batch at most. */
  readonly batchSize?: () => number;
  readonly spawn: (name: string) => Process;
}

export function createStreams(parts: StreamParts): SimulatedStreams {
  const { name } = parts;
  const shards = { arqs: shard(parts), inventory: shard(parts) };
  return {
    add: (change) => {
      if (change.table !== 'arqs' && change.table !== 'inventory') return;
      // A write that changes nothing makes no record. A record that matches no filter starts no
      // consumer.
      const { table } = change;
      if (invokes({ ...change, table }, patternsOf[name])) shards[table].add(change);
    },
    waiting: () => shards.arqs.waiting() + shards.inventory.waiting(),
  };
}

function shard(parts: StreamParts) {
  const { timeline, random, faults, consumer, spawn, isLossy } = parts;
  const { name, batchSize = () => batchMax } = parts;
  const records: DynamoDBRecord[] = [];
  let added = 0;
  let isBusy = false;

  function wake(afterMs: number): void {
    timeline.at(timeline.now() + afterMs, invoke);
  }

  function invoke(): void {
    if (isBusy || records.length === 0) return;
    isBusy = true;
    const batch = records.slice(0, batchSize());
    const process = spawn(name);
    let isOver = false;
    const over = (doneWith: number, afterMs: number) => {
      if (isOver) return;
      isOver = true;
      isBusy = false;
      records.splice(0, doneWith);
      wake(afterMs);
    };
    process.onDeath = () => over(isLossy ? batch.length : 0, retryMs);
    timeline.at(timeline.now() + timeoutMs, () => {
      if (!isOver) timeline.kill(process);
    });
    const isAgain = faults.happens('stream batch twice');
    void consumer(process)({ Records: batch }, {} as never).then(
      () => over(isAgain ? 0 : batch.length, random.between(1, 20)),
      () => over(0, retryMs),
    );
  }

  return {
    waiting: () => records.length,
    add: ({ before, after }: RowChange) => {
      const image = (item: Record<string, unknown>) => marshall(item);
      added += 1;
      records.push({
        eventID: `${String((after ?? before)?.pk)} ${added}`,
        dynamodb: {
          ApproximateCreationDateTime: Math.floor(timeline.now() / 1000),
          ...(before && { OldImage: image(before) }),
          ...(after && { NewImage: image(after) }),
        },
      } as DynamoDBRecord);
      wake(random.between(5, 200));
    },
  };
}
