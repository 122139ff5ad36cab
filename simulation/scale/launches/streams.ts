// The readers of the tables' streams: one batch at a time of each shard, in the order of commits.

import type { StreamConsumerName } from '#core/contracts/queues/queues.ts';
import { taken as assumed } from '#infra/cost/bill.ts';
import { announcedWithinSeconds } from '#infra/stack/stream-filters.ts';
import type { Timeline } from '../timeline.ts';
import type { StreamRecord } from './calls.ts';

/** infra/stack/consumers.ts; and DynamoDB's pause before a batch is read again. */
const batchSize = 100;
const againSeconds = 1;

interface Shard {
  readonly waiting: Committed[];
  isRead: boolean;
}

interface Committed {
  readonly at: number;
  readonly record: StreamRecord;
}

export class StreamReader {
  /** Seconds from a commit to the end of the batch that has it, at most. */
  late = 0;
  readonly #timeline: Timeline;
  readonly #shards = new Map<string, Shard>();
  readonly #name: StreamConsumerName;
  readonly #done: (record: StreamRecord) => boolean;

  /** @param done whether what follows from the record could be done */
  constructor(
    timeline: Timeline,
    name: StreamConsumerName,
    done: (record: StreamRecord) => boolean,
  ) {
    this.#timeline = timeline;
    this.#name = name;
    this.#done = done;
  }

  commit(shardNumber: number, record: StreamRecord): void {
    if (!record.readers.includes(this.#name)) return;
    const shard = this.#shardAt(`${record.table} ${shardNumber}`);
    shard.waiting.push({ at: this.#timeline.now, record });
    if (shard.isRead) return;
    shard.isRead = true;
    const window = this.#name === 'announcements' ? announcedWithinSeconds : 0;
    this.#timeline.after(window, () => this.#read(shard));
  }

  #read(shard: Shard): void {
    const batch = shard.waiting.splice(0, batchSize);
    if (batch.length === 0) {
      shard.isRead = false;
      return;
    }
    const seconds = (assumed.changesMs + assumed.recordMs * batch.length) / 1000;
    this.#timeline.after(seconds, () => this.#finish(shard, batch));
  }

  #finish(shard: Shard, batch: readonly Committed[]): void {
    const left = batch.filter(({ record }) => !this.#done(record));
    if (left.length > 0) {
      this.#timeline.after(againSeconds, () => this.#finish(shard, left));
      return;
    }
    const [first] = batch;
    if (first) this.late = Math.max(this.late, this.#timeline.now - first.at);
    this.#read(shard);
  }

  #shardAt(name: string): Shard {
    const earlier = this.#shards.get(name);
    if (earlier) return earlier;
    const shard = { waiting: [], isRead: false };
    this.#shards.set(name, shard);
    return shard;
  }
}
