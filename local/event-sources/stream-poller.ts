// What Lambda does for a table's stream: read each shard in order, invoke with a batch, and go on
// only when the batch has succeeded. A batch that fails is tried again for ever: the stream is the
// outbox, and nothing in it may be skipped.
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html

import { setTimeout as delay } from 'node:timers/promises';
import {
  DescribeStreamCommand,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { type Log, silentLog } from '#core/log.ts';
import { invoke, type LambdaFunction } from '../lambda.ts';
import type { Running } from '../ports.ts';
import type { Checkpoints } from './checkpoints.ts';
import { retryDelayMs } from './retry-delay.ts';
import { streamRecord } from './stream-record.ts';

// biome-ignore lint/suspicious/noConfusingVoidType: a consumer may return nothing.
export type StreamConsumer = LambdaFunction<DynamoDBStreamEvent, DynamoDBBatchResponse | void>;

export interface StreamPollerOptions {
  readonly streams: DynamoDBStreamsClient;
  readonly streamArn: string;
  readonly consumer: StreamConsumer;
  readonly checkpoints: Checkpoints;
  readonly batchSize?: number;
  /** How often to look for new records while there are none. */
  readonly idleMs?: number;
  /** The database's version, if that can be told cheaply; see LocalDynamoDb. */
  readonly version?: () => number;
  readonly log?: Log;
}

/** Even when nothing seems to have changed, look this often: a missed hint must not cost a record. */
const lookAnywayMs = 1000;

export function startStreamPoller(options: StreamPollerOptions): Running {
  const { streams, streamArn, consumer, checkpoints, batchSize = 100, log = silentLog } = options;
  const { version, idleMs = version === undefined ? 20 : 5 } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const readers = new Map<string, Promise<void>>();
  const closed = new Set<string>();

  /** Starts a reader for each shard that has none. A child comes after its parent has ended. */
  async function readShards(): Promise<void> {
    const command = new DescribeStreamCommand({ StreamArn: streamArn });
    const { StreamDescription } = await streams.send(command, { abortSignal: signal });
    for (const { ShardId = '', ParentShardId = '' } of StreamDescription?.Shards ?? []) {
      if (readers.has(ShardId) || closed.has(ShardId) || readers.has(ParentShardId)) continue;
      const reader = readShard(ShardId).then(() => {
        readers.delete(ShardId);
        closed.add(ShardId);
        return start();
      });
      readers.set(ShardId, reader);
    }
  }

  /** Returns when the shard was closed and is read to its end. */
  async function readShard(shardId: string): Promise<void> {
    let iterator: string | undefined;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const versionBefore = version?.();
        iterator ??= await iteratorOf(shardId);
        const page = await streams.send(
          new GetRecordsCommand({ ShardIterator: iterator, Limit: batchSize }),
          { abortSignal: signal },
        );
        failures = 0;
        const records = (page.Records ?? []).map((record) => streamRecord(record, streamArn));
        if (records.length > 0) await consume(shardId, records);
        if (page.NextShardIterator === undefined) return;
        iterator = page.NextShardIterator;
        if (records.length === 0) await untilWorthLooking(versionBefore);
      } catch (error) {
        if (signal.aborted) return;
        // Whatever it was, the checkpoint says where to go on.
        iterator = undefined;
        if (error instanceof Error && error.name === 'TrimmedDataAccessException') {
          log.error('Stream records were trimmed before they were consumed.', { streamArn });
          checkpoints.forget(shardId);
        } else {
          log.warn('Reading the stream failed.', { streamArn, error });
        }
        await pause(retryDelayMs(failures++));
      }
    }
  }

  async function iteratorOf(shardId: string): Promise<string | undefined> {
    const after = checkpoints.load(shardId);
    const { ShardIterator } = await streams.send(
      new GetShardIteratorCommand({
        StreamArn: streamArn,
        ShardId: shardId,
        ...(after === undefined
          ? { ShardIteratorType: 'TRIM_HORIZON' }
          : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: after }),
      }),
      { abortSignal: signal },
    );
    return ShardIterator;
  }

  /** Returns when all records are done, or when we are to stop. */
  async function consume(shardId: string, records: readonly DynamoDBRecord[]): Promise<void> {
    let rest = records;
    for (let failures = 0; rest.length > 0 && !signal.aborted; ) {
      const doneCount = await invokeOnce(rest);
      const last = rest[doneCount - 1]?.dynamodb?.SequenceNumber;
      if (last !== undefined) checkpoints.save(shardId, last);
      rest = rest.slice(doneCount);
      failures = doneCount > 0 ? 0 : failures + 1;
      if (rest.length > 0) await pause(retryDelayMs(failures));
    }
  }

  async function invokeOnce(records: readonly DynamoDBRecord[]): Promise<number> {
    try {
      return succeededCount(records, await invoke(consumer, { Records: [...records] }));
    } catch (error) {
      log.error('The stream’s consumer failed.', { consumer: consumer.name, error });
      return 0;
    }
  }

  async function untilWorthLooking(versionBefore: number | undefined): Promise<void> {
    const lookAnywayAt = Date.now() + lookAnywayMs;
    do await pause(idleMs);
    while (
      !signal.aborted &&
      version !== undefined &&
      version() === versionBefore &&
      Date.now() < lookAnywayAt
    );
  }

  const pause = (ms: number) => delay(ms, undefined, { signal }).catch(() => {});

  async function start(): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        return await readShards();
      } catch (error) {
        if (!signal.aborted) log.warn('Describing the stream failed.', { streamArn, error });
        await pause(retryDelayMs(failures++));
      }
    }
  }

  const starting = start();
  return {
    /** Lets a batch that is under way finish. */
    stop: async () => {
      stopping.abort();
      await starting;
      while (readers.size > 0) await Promise.all(readers.values());
    },
  };
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
