// Reads one shard of a table's stream in order, batch by batch. A batch that fails is retried for
// ever: the stream is the outbox, and no record may be skipped.

import { setTimeout as delay } from 'node:timers/promises';
import {
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { type Log, silentLog } from '#core/log.ts';
import type { EngineWrites } from '#local/aws/dynamodb/dynamodb-writes.ts';
import { invoke, type LambdaFunction } from '#local/lambda/lambda.ts';
import type { Checkpoints } from './checkpoints.ts';
import { retryDelayMs } from './retry-delay.ts';
import { streamRecord } from './stream-record.ts';

/** The result is interpreted as by Lambda; no result is a result, too. */
export type StreamConsumer = LambdaFunction<DynamoDBStreamEvent, unknown>;

export interface StreamPollerOptions {
  readonly streams: DynamoDBStreamsClient;
  readonly streamArn: string;
  readonly consumer: StreamConsumer;
  readonly checkpoints: Checkpoints;
  readonly batchSize?: number;
  /** How often to read while there are no new records; not used if `writes` is given. */
  readonly idleMs?: number;
  /** Reports writes of the local engine; see LocalDynamoDb. */
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

  /** Returns at the end of a closed shard, or when the poller stops. */
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
        // After any error, continue at the checkpoint.
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

  /** Returns the next page's iterator; undefined at the end of a closed shard. */
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

  /** Returns when all records are done, or when the poller stops. */
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
      this.#log.error('Consumer failed', { consumer: consumer.name, error });
      return 0;
    }
  }

  /** Takes the version before the read, so that a write after the read ends the wait at once. */
  async #untilWorthLooking(versionBefore: number): Promise<void> {
    const { writes, idleMs = 20 } = this.#options;
    if (writes === undefined) await this.#pause(idleMs);
    else await writes.changedSince(versionBefore, this.#signal);
  }

  #note(error: unknown): void {
    const { checkpoints, streamArn } = this.#options;
    if (error instanceof Error && error.name === 'TrimmedDataAccessException') {
      this.#log.error('Stream records lost: trimmed before they were consumed', { streamArn });
      checkpoints.forget(this.#shardId);
    } else {
      this.#log.warn('Stream read failed', { streamArn, error });
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#signal }).catch(() => {});
  }
}

/**
 * How many records from the first on are done. Lambda continues at the lowest number that is
 * reported as failed; an invalid report fails all records.
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
