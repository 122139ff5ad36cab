// A local DynamoDB: the engine, and the tables of core/store/table/tables.ts in it or in another
// DynamoDB.

import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import {
  type TableDefinition,
  type TableName,
  tableName,
  tables,
} from '#core/store/table/tables.ts';

export {
  type DynamoDbOptions,
  EngineUnavailable,
  engineBinary,
  type LocalDynamoDb,
  startDynamoDb,
} from './dynamodb-engine.ts';

/**
 * Creates the stage's tables and returns the ARN of each stream. Existing tables stay unchanged.
 */
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
  // AWS and other endpoints may take a while to create a table.
  for (;;) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: input.TableName }));
    if (Table?.TableStatus === 'ACTIVE') return Table.LatestStreamArn;
    await delay(200);
  }
}

/** The input of CreateTable for one row of the table of tables. */
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
