import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { createTables, startDynamoDb } from '#local/aws/dynamodb/dynamodb.ts';
import { watchWrites } from '#local/aws/dynamodb/dynamodb-writes.ts';
import { openCheckpoints } from '#local/lambda/event-sources/checkpoints.ts';
import { type StreamConsumer, succeededCount } from '#local/lambda/event-sources/shard-reader.ts';
import { startStreamPoller } from '#local/lambda/event-sources/stream-poller.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile, perFile } from '#test/support/vitest/shared.ts';
import { dynamoDbAt, streamsAt } from './clients.ts';
import { startProcess } from './engine-process.ts';

const directory = directoryPerFile();
const engine = perFile(() => startDynamoDb({ file: join(directory, 'dynamodb.db') }));
let client: DynamoDBClient;
let made = 0;
const stops: (() => Promise<void>)[] = [];

beforeAll(() => {
  client = dynamoDbAt(engine.url);
});

afterEach(async () => {
  vi.useRealTimers();
  for (const stop of stops.splice(0)) await stop();
});

/** Creates a table for one test, and a function that writes to it. */
async function aStream() {
  made += 1;
  const stage = `stream-${made}`;
  const { arqs: streamArn = '' } = await createTables(client, stage);
  const put = (...keys: string[]) =>
    keys.reduce(async (before, pk) => {
      await before;
      const Item = { pk: { S: pk }, flag: { B: Uint8Array.of(1) } };
      await client.send(new PutItemCommand({ TableName: `${stage}-arqs`, Item }));
    }, Promise.resolve());
  return { streamArn, put };
}

function consume(
  streamArn: string,
  handler: StreamConsumer['handler'],
  checkpoints = openCheckpoints(streamArn),
  writes = engine.writes,
) {
  const poller = startStreamPoller({
    streams: streamsAt(engine.url),
    streamArn,
    consumer: { name: 'consumer', timeoutSeconds: 5, handler },
    checkpoints,
    ...(writes && { writes }),
  });
  stops.push(poller.stop);
  return poller;
}

const keysOf = (event: DynamoDBStreamEvent) =>
  event.Records.map(({ dynamodb }) => dynamodb?.Keys?.pk?.S ?? '');

it('invokes the consumer with both images, in the form of Lambda', async () => {
  const { streamArn, put } = await aStream();
  const records: DynamoDBRecord[] = [];
  consume(streamArn, async (event) => void records.push(...event.Records));
  await put('a');
  await client.send(
    new PutItemCommand({ TableName: `stream-${made}-arqs`, Item: { pk: { S: 'a' } } }),
  );
  await eventually(() => records.map(({ eventName }) => eventName)).toEqual(['INSERT', 'MODIFY']);
  expect(JSON.parse(JSON.stringify(records[0]))).toMatchObject({
    eventSource: 'aws:dynamodb',
    eventSourceARN: streamArn,
    dynamodb: {
      Keys: { pk: { S: 'a' } },
      NewImage: { pk: { S: 'a' }, flag: { B: 'AQ==' } },
      SequenceNumber: expect.stringMatching(/^\d+$/),
    },
  });
});

it('reports a write within a few milliseconds', async () => {
  const { streamArn, put } = await aStream();
  const seen = new Map<string, number>();
  consume(streamArn, async (event) => {
    for (const key of keysOf(event)) seen.set(key, performance.now());
  });
  await put('first');
  await eventually(() => seen.size).toBe(1);
  const delays: number[] = [];
  for (let at = 0; at < 9; at += 1) {
    await put(`key-${at}`);
    const written = performance.now();
    await eventually(() => seen.has(`key-${at}`)).toBe(true);
    delays.push((seen.get(`key-${at}`) ?? 0) - written);
  }
  // Typically 5 ms; a missed report would take a second. The bound is for a busy machine.
  expect(delays.sort((a, b) => a - b)[4]).toBeLessThan(250);
});

it('hardly reads the database while nothing is written to it', async () => {
  const { streamArn, put } = await aStream();
  const { writes } = engine;
  if (writes === undefined) throw new Error('The engine has no file.');
  let looks = 0;
  const seen: string[] = [];
  const handler: StreamConsumer['handler'] = async (event) => void seen.push(...keysOf(event));
  const counted = watchWrites(join(directory, 'dynamodb.db'), () => {
    looks += 1;
    return writes.version();
  });
  consume(streamArn, handler, openCheckpoints(streamArn), counted);
  await put('a');
  await eventually(() => seen).toEqual(['a']);
  await delay(500);
  const before = looks;
  await delay(2000);
  // Two reads a second are normal; a reader that polls every five milliseconds would make 400.
  expect(looks - before).toBeLessThan(40);
  await put('b');
  await eventually(() => seen).toEqual(['a', 'b']);
  counted.close();
});

it('continues at the record that the consumer reported as failed, in order', async () => {
  const { streamArn, put } = await aStream();
  await put('a', 'b', 'c', 'd');
  const deliveries: string[][] = [];
  consume(streamArn, async (event) => {
    deliveries.push(keysOf(event));
    if (deliveries.length > 1) return undefined;
    const failed = event.Records[2]?.dynamodb?.SequenceNumber ?? '';
    return { batchItemFailures: [{ itemIdentifier: failed }] };
  });
  await eventually(() => deliveries).toEqual([
    ['a', 'b', 'c', 'd'],
    ['c', 'd'],
  ]);
});

it('retries a batch until the consumer no longer throws, and only then continues', async () => {
  const { streamArn, put } = await aStream();
  await put('a');
  const deliveries: string[][] = [];
  consume(streamArn, async (event) => {
    deliveries.push(keysOf(event));
    if (deliveries.length < 4) throw new Error('not yet');
  });
  await eventually(() => deliveries.length).toBeGreaterThan(1);
  await put('b');
  await eventually(() => deliveries).toEqual([['a'], ['a'], ['a'], ['a'], ['b']]);
});

it('resumes after the last finished batch when its process is killed', async () => {
  const { streamArn, put } = await aStream();
  await put('a', 'b');
  const file = join(directory, `checkpoint-${made}.json`);
  const process = await startProcess(`
    import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
    import { openCheckpoints } from '#local/lambda/event-sources/checkpoints.ts';
    import { startStreamPoller } from '#local/lambda/event-sources/stream-poller.ts';
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    startStreamPoller({
      streams: new DynamoDBStreamsClient({
        endpoint: '${engine.url}', region: 'us-east-1', credentials,
      }),
      streamArn: '${streamArn}',
      checkpoints: openCheckpoints('${streamArn}', '${file}'),
      batchSize: 1,
      consumer: { name: 'killed', timeoutSeconds: 60, handler: async (event) => {
        // The consumer finishes the first record, and is killed while it works on the second.
        if (event.Records[0].dynamodb.Keys.pk.S === 'a') return;
        console.log('working on b');
        await new Promise(() => {});
      } },
    });
  `);
  await process.killHard();
  await put('c');

  const keys: string[] = [];
  const checkpoints = openCheckpoints(streamArn, file);
  consume(streamArn, async (event) => void keys.push(...keysOf(event)), checkpoints);
  await eventually(() => keys).toEqual(['b', 'c']);
});

it('finishes the batch in progress before it stops', async () => {
  const { streamArn, put } = await aStream();
  await put('a');
  const finish = Promise.withResolvers<void>();
  let isRunning = false;
  const checkpoints = openCheckpoints(streamArn);
  const poller = consume(
    streamArn,
    async () => {
      isRunning = true;
      await finish.promise;
    },
    checkpoints,
  );
  await eventually(() => isRunning).toBe(true);
  const stopped = poller.stop();
  finish.resolve();
  await stopped;
  const seen: string[] = [];
  await put('b');
  consume(streamArn, async (event) => void seen.push(...keysOf(event)), checkpoints);
  await eventually(() => seen).toEqual(['b']);
});

const batch = ['1', '2', '3'].map((SequenceNumber) => ({ dynamodb: { SequenceNumber } }));

it.each([
  ['nothing', undefined, 3],
  ['an empty report', { batchItemFailures: [] }, 3],
  ['the second record', { batchItemFailures: [{ itemIdentifier: '2' }] }, 1],
  [
    'the third and the second',
    { batchItemFailures: [{ itemIdentifier: '3' }, { itemIdentifier: '2' }] },
    1,
  ],
  ['an unknown record', { batchItemFailures: [{ itemIdentifier: '9' }] }, 0],
])('interprets a report of %s as Lambda does', (_what, response, count) => {
  expect(succeededCount(batch, response)).toBe(count);
});

it('writes the positions of a burst together, and the last one at the latest when it stops', () => {
  vi.useFakeTimers();
  const file = join(directory, 'burst.json');
  const checkpoints = openCheckpoints('arn', file);
  const positionIn = () => openCheckpoints('arn', file).load('shard');
  for (let number = 1; number <= 500; number += 1) checkpoints.save('shard', `${number}`);
  expect(positionIn()).toBe('1');
  vi.advanceTimersByTime(1000);
  expect(positionIn()).toBe('500');
  checkpoints.save('shard', '501');
  checkpoints.save('shard', '502');
  checkpoints.flush();
  expect(positionIn()).toBe('502');
});
