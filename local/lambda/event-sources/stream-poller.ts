// A stream's event source mapping: finds the shards, reads each in order, and invokes.
// https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html

import { setTimeout as delay } from 'node:timers/promises';
import { DescribeStreamCommand, type Shard } from '@aws-sdk/client-dynamodb-streams';
import { silentLog } from '#core/log.ts';
import type { Running } from '#local/ports.ts';
import { retryDelayMs } from './retry-delay.ts';
import { ShardReader, type StreamPollerOptions } from './shard-reader.ts';

export function startStreamPoller(options: StreamPollerOptions): Running {
  const { streams, streamArn, log = silentLog } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const reading = new Map<string, Promise<void>>();
  const finished = new Set<string>();

  async function describe(): Promise<readonly Shard[]> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        const command = new DescribeStreamCommand({ StreamArn: streamArn });
        const { StreamDescription } = await streams.send(command, { abortSignal: signal });
        return StreamDescription?.Shards ?? [];
      } catch (error) {
        if (!signal.aborted) log.warn('DescribeStream failed', { streamArn, error });
        const ms = retryDelayMs(failures++);
        await delay(ms, undefined, { signal }).catch(() => {});
      }
    }
    return [];
  }

  /**
   * Starts a reader for each shard without one. A child shard starts after the end of its parent.
   */
  async function readShards(): Promise<void> {
    for (const { ShardId = '', ParentShardId = '' } of await describe()) {
      if (reading.has(ShardId) || finished.has(ShardId) || reading.has(ParentShardId)) continue;
      const reader = new ShardReader(options, ShardId, signal).read().then(() => {
        reading.delete(ShardId);
        finished.add(ShardId);
        return readShards();
      });
      reading.set(ShardId, reader);
    }
  }

  const starting = readShards();
  return {
    /** Waits for the batches in progress. */
    stop: async () => {
      stopping.abort();
      await starting;
      while (reading.size > 0) await Promise.all(reading.values());
      options.checkpoints.flush();
    },
  };
}
