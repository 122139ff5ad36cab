// The event sources of the deployed stack, from the same tables: a poller per queue, one per
// stream, and the schedule. They invoke the deployed handlers.

import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type QueueName, queues, type StreamConsumerName } from '#core/contracts/queues/queues.ts';
import { sweepSeconds } from '#core/domain/host-work/deadlines.ts';
import type { Log } from '#core/log.ts';
import { loadSettings } from '#core/settings.ts';
import { handler as announcements } from '#functions/consumers/announcements.ts';
import type { QueueHandler } from '#functions/consumers/batch/queue-consumer.ts';
import { handler as changes, type StreamHandler } from '#functions/consumers/changes.ts';
import { handler as hostJobs } from '#functions/consumers/host-jobs.ts';
import { handler as hostPresence } from '#functions/consumers/host-presence.ts';
import { handler as inventoryReports } from '#functions/consumers/inventory-reports.ts';
import { handler as jobEvents } from '#functions/consumers/job-events.ts';
import { handler as lateEvents } from '#functions/consumers/late-events.ts';
import { handler as novaEvents } from '#functions/consumers/nova-events.ts';
import { handler as providerSyncs } from '#functions/consumers/provider-syncs.ts';
import { handler as sweep } from '#functions/consumers/sweep.ts';
import { createTables } from '#local/aws/dynamodb/dynamodb.ts';
import { openEngineFile } from '#local/aws/dynamodb/dynamodb-file.ts';
import type { Running } from '#local/ports.ts';
import { openCheckpoints } from './event-sources/checkpoints.ts';
import { startQueuePoller } from './event-sources/queue-poller.ts';
import { startSchedule } from './event-sources/schedule.ts';
import { startStreamPoller } from './event-sources/stream-poller.ts';

const consumers: Readonly<Record<QueueName, QueueHandler>> = {
  'nova-events': novaEvents,
  'inventory-reports': inventoryReports,
  'host-presence': hostPresence,
  'provider-syncs': providerSyncs,
  'host-jobs': hostJobs,
  'job-events': jobEvents,
  'late-events': lateEvents,
};

/** Each consumer reads the streams of the tables by itself. */
const streamReaders: Readonly<Record<StreamConsumerName, StreamHandler>> = {
  changes,
  announcements,
};

export const streamTimeoutSeconds = 30;

interface ConsumersOptions {
  readonly log: Log;
  /** Queues whose messages are taken; all by default. */
  readonly taken?: readonly QueueName[];
  /** Stores the positions in the streams; without it positions last as long as the process. */
  readonly checkpointDirectory?: string;
  /** The local engine's file, which shows the readers of the streams that there is nothing new. */
  readonly engineFile?: string;
}

export interface Consumers extends Running {
  /** Runs the sweep at once. */
  sweep(): Promise<void>;
}

/** Settings and endpoints come from the environment of the process, as in Lambda. */
export async function startConsumers({
  log,
  taken = queues.map(({ name }) => name),
  checkpointDirectory,
  engineFile,
}: ConsumersOptions): Promise<Consumers> {
  const settings = loadSettings(process.env);
  const sqs = new SQSClient();
  const streams = new DynamoDBStreamsClient();
  const tables = new DynamoDBClient();
  const streamArns = await createTables(tables, settings.stage);

  const file = engineFile === undefined ? undefined : openEngineFile(engineFile);

  const pollers = queues
    .filter(({ name }) => taken.includes(name))
    .map((row) =>
      startQueuePoller({
        sqs,
        queueUrl: settings.queueUrls[row.name],
        consumer: {
          name: row.name,
          handler: consumers[row.name],
          timeoutSeconds: row.timeoutSeconds,
        },
        batchSize: row.batchSize,
        concurrencyMax: row.concurrencyMax,
        log,
      }),
    );
  const readers = Object.entries(streamReaders).flatMap(([name, handler]) =>
    Object.entries(streamArns).map(([table, streamArn]) =>
      startStreamPoller({
        streams,
        streamArn,
        consumer: { name, handler, timeoutSeconds: streamTimeoutSeconds },
        checkpoints: openCheckpoints(
          streamArn,
          checkpointDirectory && join(checkpointDirectory, `${name}-${table}.json`),
        ),
        ...(file && { writes: file.writes }),
        log,
      }),
    ),
  );
  const schedule = startSchedule({
    everySeconds: sweepSeconds,
    target: { name: 'sweep', handler: sweep, timeoutSeconds: 60 },
    log,
  });
  return {
    sweep: () => schedule.run(),
    stop: async () => {
      await Promise.all([...pollers, ...readers, schedule].map((each) => each.stop()));
      file?.close();
      for (const client of [sqs, streams, tables]) client.destroy();
    },
  };
}
