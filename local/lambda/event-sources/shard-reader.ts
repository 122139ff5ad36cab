// Reads one shard of a table's stream in order, and goes on only when a batch has succeeded. A batch
// that fails is tried again for ever: the stream is the outbox, and nothing in it may be skipped.

import { setTimeout as delay } from 'node:timers/promises';
import {
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { type Log, silentLog } from '#core/log.ts';
import type { EngineWrites } from '../../aws/dynamodb-writes.ts';
import { invoke, type LambdaFunction } from '../lambda.ts';
import type { Checkpoints } from './checkpoints.ts';
import { retryDelayMs } from './retry-delay.ts';
import { streamRecord } from './stream-record.ts';

/** What it answers is read as Lambda reads it; nothing is an answer, too. */
export type StreamConsumer = LambdaFunction<DynamoDBStreamEvent, unknown>;

export interface StreamPollerOptions {
  readonly streams: DynamoDBStreamsClient;
  readonly streamArn: string;
  readonly consumer: StreamConsumer;
  readonly checkpoints: Checkpoints;
  readonly batchSize?: number;
  /** How often to look for new records while there are none; not asked where `writes` tells. */
  readonly idleMs?: number;
  /** What tells of the engine's writes, where there is such a thing; see LocalDynamoDb. */
  readonly writes?: EngineWrites;
  readonly log?: Log;
}

export class ShardReader {
  readonly #options: StreamPollerOptions;
  readonly #shardId: string;
  readonly #signal: AbortSignal;
  readonly #log: Log;

  constructor(options: StreamPollerOptions, shardId: string, signal: AbortSignal) {
    this.#options = options;
    this.#shardId = shardId;
    this.#signal = signal;
    this.#log = options.log ?? silentLog;
  }

  /** Returns when the shard was closed and is read to its end, or when we are to stop. */
  async read(): Promise<void> {
    let iterator: string | undefined;
    for (let failures = 0; !this.#signal.aborted; ) {
      try {
        iterator ??= await this.#iterator();
        iterator = await this.#readPage(iterator);
        if (iterator === undefined) return;
        failures = 0;
      } catch (error) {
        if (this.#signal.aborted) return;
        // Whatever it was, the checkpoint says where to go on.
        iterator = undefined;
        this.#note(error);
        await this.#pause(retryDelayMs(failures++));
      }
    }
  }

  async #iterator(): Promise<string | undefined> {
    const { streams, streamArn, checkpoints } = this.#options;
    const after = checkpoints.load(this.#shardId);
    const { ShardIterator } = await streams.send(
      new GetShardIteratorCommand({
        StreamArn: streamArn,
        ShardId: this.#shardId,
        ...(after === undefined
          ? { ShardIteratorType: 'TRIM_HORIZON' }
          : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: after }),
      }),
      { abortSignal: this.#signal },
    );
    return ShardIterator;
  }

  /** Returns the next page's iterator; there is none at the end of a shard that was closed. */
  async #readPage(iterator: string | undefined): Promise<string | undefined> {
    const { streams, streamArn, writes, batchSize = 100 } = this.#options;
    const versionBefore = writes?.version() ?? 0;
    const page = await streams.send(
      new GetRecordsCommand({ ShardIterator: iterator, Limit: batchSize }),
      { abortSignal: this.#signal },
    );
    const records = (page.Records ?? []).map((record) => streamRecord(record, streamArn));
    if (records.length > 0) await this.#consume(records);
    else if (page.NextShardIterator !== undefined) await this.#untilWorthLooking(versionBefore);
    return page.NextShardIterator;
  }

  /** Returns when all records are done, or when we are to stop. */
  async #consume(records: readonly DynamoDBRecord[]): Promise<void> {
    let rest = records;
    for (let failures = 0; rest.length > 0 && !this.#signal.aborted; ) {
      const doneCount = await this.#invoke(rest);
      const last = rest[doneCount - 1]?.dynamodb?.SequenceNumber;
      if (last !== undefined) this.#options.checkpoints.save(this.#shardId, last);
      rest = rest.slice(doneCount);
      if (rest.length > 0) await this.#pause(retryDelayMs(doneCount > 0 ? 0 : failures++));
    }
  }

  async #invoke(records: readonly DynamoDBRecord[]): Promise<number> {
    const { consumer } = this.#options;
    try {
      return succeededCount(records, await invoke(consumer, { Records: [...records] }));
    } catch (error) {
      this.#log.error("The stream's consumer failed.", { consumer: consumer.name, error });
      return 0;
    }
  }

  /** A write between the version and the page shows at once: the version is another by now. */
  async #untilWorthLooking(versionBefore: number): Promise<void> {
    const { writes, idleMs = 20 } = this.#options;
    if (writes === undefined) await this.#pause(idleMs);
    else await writes.changedSince(versionBefore, this.#signal);
  }

  #note(error: unknown): void {
    const { checkpoints, streamArn } = this.#options;
    if (error instanceof Error && error.name === 'TrimmedDataAccessException') {
      this.#log.error('Stream records were trimmed before they were consumed.', { streamArn });
      checkpoints.forget(this.#shardId);
    } else {
      this.#log.warn('Reading the stream failed.', { streamArn, error });
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal }).catch(() => {});
  }
}

/**
 * How many records from the first on are done. The lowest number reported as failed is where Lambda
 * goes on; a report that it does not understand means none.
 */
export function succeededCount(records: readonly DynamoDBRecord[], response: unknown): number {
  const failures = (response as Partial<DynamoDBBatchResponse> | null | undefined)
    ?.batchItemFailures;
  if (failures === undefined || failures === null || failures.length === 0) return records.length;
  const positions = failures.map(({ itemIdentifier }) =>
    records.findIndex(({ dynamodb }) => dynamodb?.SequenceNumber === itemIdentifier),
  );
  return Math.max(0, Math.min(...positions));
}
