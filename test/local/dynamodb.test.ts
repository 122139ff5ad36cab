import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  DescribeTableCommand,
  type DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from '@aws-sdk/client-dynamodb-streams';
import { afterEach, expect, it } from 'vitest';
import {
  createTables,
  engineBinary,
  type LocalDynamoDb,
  startDynamoDb,
} from '#local/aws/dynamodb/dynamodb.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { dynamoDbAt, streamsAt } from './clients.ts';
import { startProcess } from './engine-process.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function aFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'dynamodb-'));
  cleanups.push(() => rmSync(directory, { recursive: true }));
  return join(directory, 'dynamodb.db');
}

async function anEngine(file?: string): Promise<LocalDynamoDb> {
  const engine = await startDynamoDb(file === undefined ? {} : { file });
  cleanups.push(engine.stop);
  return engine;
}

function put(client: DynamoDBClient, pk: string) {
  return client.send(new PutItemCommand({ TableName: 'test-arqs', Item: { pk: { S: pk } } }));
}

async function streamedKeys(url: string, arn: string | undefined): Promise<string[]> {
  const streams = streamsAt(url);
  const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn: arn }));
  const { ShardIterator } = await streams.send(
    new GetShardIteratorCommand({
      StreamArn: arn,
      ShardId: StreamDescription?.Shards?.[0]?.ShardId,
      ShardIteratorType: 'TRIM_HORIZON',
    }),
  );
  const keys: string[] = [];
  let iterator = ShardIterator;
  for (;;) {
    const page = await streams.send(new GetRecordsCommand({ ShardIterator: iterator }));
    if (!page.Records?.length) return keys;
    keys.push(...page.Records.map(({ dynamodb }) => dynamodb?.Keys?.pk?.S ?? ''));
    iterator = page.NextShardIterator;
  }
}

it('creates the tables of a stage with indexes and streams; a second call changes nothing', async () => {
  const client = dynamoDbAt((await anEngine()).url);
  const streams = await createTables(client, 'test');
  expect(Object.keys(streams).sort()).toEqual(['arqs', 'device-profiles', 'inventory']);
  expect(await createTables(client, 'test')).toEqual(streams);

  const { Table } = await client.send(new DescribeTableCommand({ TableName: 'test-inventory' }));
  expect(Table?.KeySchema?.map(({ AttributeName }) => AttributeName)).toEqual(['pk', 'sk']);
  expect(Table?.StreamSpecification?.StreamViewType).toBe('NEW_AND_OLD_IMAGES');
  expect(Table?.GlobalSecondaryIndexes?.map(({ IndexName }) => IndexName).sort()).toEqual([
    'by-card',
    'by-created',
    'by-due',
    'by-kind',
  ]);
});

it('keeps items and unread stream records when the engine is killed under load', async () => {
  const file = aFile();
  const engine = await anEngine(file);
  const client = dynamoDbAt(engine.url);
  const { arqs } = await createTables(client, 'test');
  const acknowledged: string[] = [];
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let at = 0; ; at += 1) {
      await put(client, `${writer}-${at}`);
      acknowledged.push(`${writer}-${at}`);
    }
  });
  const ended = Promise.allSettled(writers);
  await eventually(() => acknowledged.length).toBeGreaterThan(200);
  await engine.stop();
  await ended;

  const again = await anEngine(file);
  const { Items = [] } = await dynamoDbAt(again.url).send(
    new ScanCommand({ TableName: 'test-arqs' }),
  );
  const stored = Items.map(({ pk }) => pk?.S ?? '').sort();
  const streamed = await streamedKeys(again.url, arqs);
  expect(streamed.toSorted()).toEqual(stored);
  expect(acknowledged.filter((key) => !streamed.includes(key))).toEqual([]);
});

it('continues the numbers of stream records after old ones were removed', async () => {
  const file = aFile();
  const engine = await anEngine(file);
  const { arqs } = await createTables(dynamoDbAt(engine.url), 'test');
  for (const key of ['a', 'b', 'c']) await put(dynamoDbAt(engine.url), key);
  await engine.stop();
  const database = new DatabaseSync(file);
  database.exec('UPDATE _stream_records SET created_at = created_at - 100000');
  database.close();

  const again = await anEngine(file);
  await put(dynamoDbAt(again.url), 'd');
  expect(await streamedKeys(again.url, arqs)).toEqual(['c', 'd']);
});

it('finds the last stream record by an index, so that writes do not slow down', async () => {
  const file = aFile();
  await anEngine(file);
  const database = new DatabaseSync(file);
  const plan = database
    .prepare(
      `EXPLAIN QUERY PLAN SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records
        WHERE table_name = 'test-arqs'`,
    )
    .get();
  database.close();
  expect(plan?.detail).toContain('stream_records_by_number');
});

it('reports whether anything was written without a request to the engine', async () => {
  const engine = await anEngine(aFile());
  const client = dynamoDbAt(engine.url);
  await createTables(client, 'test');
  const before = engine.writes?.version();
  expect(engine.writes?.version()).toBe(before);
  await put(client, 'a');
  expect(engine.writes?.version()).not.toBe(before);
});

it('names the port that is taken', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  cleanups.push(() => other.close());
  const { port } = other.address() as { port: number };
  await expect(startDynamoDb({ port, variable: 'DYNAMODB_PORT' })).rejects.toThrow(
    `Port ${port} is in use by another program: stop it, or set DYNAMODB_PORT to another one.`,
  );
});

it('names the variable to set on a platform without an engine', () => {
  expect(() => engineBinary('plan9-mips')).toThrow('set AWS_ENDPOINT_URL_DYNAMODB');
});

it('ends when the process that started it ends, even by a kill', async () => {
  const owner = await startProcess(`
    import { startDynamoDb } from '#local/aws/dynamodb/dynamodb.ts';
    console.log((await startDynamoDb()).url);
    setInterval(() => {}, 1000);
  `);
  await expect(fetch(owner.said)).resolves.toBeDefined();
  await owner.killHard();
  await eventually(() =>
    fetch(owner.said).then(
      () => 'up',
      () => 'down',
    ),
  ).toBe('down');
});
