// DynamoDB on this machine: the dynoxide engine from its npm platform package, in a process of its
// own, and the tables of core/store/tables.ts in it.
//
// With a file, items and stream records are in one SQLite database and are committed together: both
// survive the death of the engine at any moment. Without a file, both live as long as the engine.

import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import { type TableDefinition, type TableName, tableName, tables } from '#core/store/tables.ts';
import { startGuarded } from './child-process.ts';
import { type EngineFile, openEngineFile } from './dynamodb-file.ts';
import { freePort, type ListenOptions, type Running } from './ports.ts';

/** Measured: 13 to 90 ms. The rest is for a machine that is very busy. */
const readyWithinMs = 15_000;

export interface DynamoDbOptions extends Partial<ListenOptions> {
  /** SQLite file; its directory is made. Without it all is in memory, for short tests only. */
  readonly file?: string;
}

export interface LocalDynamoDb extends Running {
  readonly url: string;
  readonly port: number;
  /**
   * Another number after each write; asking costs microseconds, so that a stream's reader need not
   * ask the engine to find out that there is nothing new. Only with a file.
   */
  readonly version?: () => number;
  /** Resolves when the engine has ended, whoever ended it. */
  readonly ended: Promise<void>;
}

/** The platform has no engine, or it did not start. The message is one line for the user. */
export class EngineUnavailable extends Error {
  override readonly name = 'EngineUnavailable';
}

/** @throws EngineUnavailable, PortTaken */
export async function startDynamoDb(options: DynamoDbOptions = {}): Promise<LocalDynamoDb> {
  const { file, host = '127.0.0.1' } = options;
  const binary = engineBinary();
  const port = await freePort({ ...options, port: options.port ?? 0, host });
  const url = `http://${host}:${port}`;
  if (file !== undefined) mkdirSync(dirname(file), { recursive: true });
  if (file !== undefined && existsSync(file)) {
    const before = openEngineFile(file);
    before.trim();
    before.close();
  }

  const fileArgs = file === undefined ? [] : ['--db-path', file];
  const engine = startGuarded(binary, ['serve', '--host', host, '--port', `${port}`, ...fileArgs]);
  let engineFile: EngineFile | undefined;
  const stop = async () => {
    engineFile?.close();
    await engine.kill();
  };
  try {
    await untilAnswering(url, engine);
    const { ended } = engine;
    if (file === undefined) return { url, port, stop, ended };
    engineFile = openEngineFile(file);
    engineFile.addIndex();
    return { url, port, stop, ended, version: engineFile.version };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Path of the engine for this platform. Linux and macOS have one; elsewhere another can be used. */
export function engineBinary(platform = `${process.platform}-${process.arch}`): string {
  const name = `@dynoxide/${platform}`;
  try {
    const packageJson = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(packageJson), 'dynoxide');
  } catch {
    throw new EngineUnavailable(
      `There is no DynamoDB engine here (npm package ${name}): install it, or set ` +
        'AWS_ENDPOINT_URL_DYNAMODB to a DynamoDB that already runs.',
    );
  }
}

async function untilAnswering(
  url: string,
  engine: { hasEnded(): boolean; complaint(): string },
): Promise<void> {
  const deadline = Date.now() + readyWithinMs;
  while (Date.now() < deadline) {
    if (engine.hasEnded()) break;
    try {
      await fetch(url, { signal: AbortSignal.timeout(1000) });
      return;
    } catch {
      await delay(5);
    }
  }
  throw new EngineUnavailable(`The DynamoDB engine did not start. ${engine.complaint()}`.trim());
}

/** Makes the stage's tables, and returns the ARN of each stream. Tables already there stay as they are. */
export async function createTables(
  client: DynamoDBClient,
  stage: string,
): Promise<Readonly<Partial<Record<TableName, string>>>> {
  const arns = await Promise.all(
    tables.map(async (table) => [table.name, await createTable(client, stage, table)] as const),
  );
  return Object.fromEntries(arns.filter(([, arn]) => arn !== undefined));
}

async function createTable(
  client: DynamoDBClient,
  stage: string,
  table: TableDefinition,
): Promise<string | undefined> {
  const input = tableInput(stage, table);
  try {
    await client.send(new CreateTableCommand(input));
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ResourceInUseException')) throw error;
  }
  // Another endpoint than our engine may take its time to make a table.
  for (;;) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: input.TableName }));
    if (Table?.TableStatus === 'ACTIVE') return Table.LatestStreamArn;
    await delay(200);
  }
}

/** What CreateTable is given for one row of the table of tables. */
export function tableInput(stage: string, table: TableDefinition): CreateTableCommandInput {
  const key = table.hasSortKey ? ['pk', 'sk'] : ['pk'];
  const attributes = new Set(
    key.concat(...table.indexes.map(({ partitionKey, sortKey }) => [partitionKey, sortKey])),
  );
  return {
    TableName: tableName(stage, table.name),
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [...attributes].map((AttributeName) => ({
      AttributeName,
      AttributeType: 'S',
    })),
    KeySchema: keySchema(key),
    ...(table.indexes.length > 0 && {
      GlobalSecondaryIndexes: table.indexes.map(({ name, partitionKey, sortKey, projection }) => ({
        IndexName: name,
        KeySchema: keySchema([partitionKey, sortKey]),
        Projection:
          typeof projection === 'string'
            ? { ProjectionType: projection }
            : { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: [...projection] },
      })),
    }),
    ...(table.hasStream && {
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' as const },
    }),
  };
}

function keySchema(names: readonly string[]) {
  return names.map((AttributeName, at) => ({
    AttributeName,
    KeyType: at === 0 ? ('HASH' as const) : ('RANGE' as const),
  }));
}
