// A restore to a point in time, as DynamoDB leaves it: the stage's tables as they are now, under other
// names and without streams.

import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { BackupStore } from '#core/store/backups.ts';
import { tableName, tables } from '#core/store/tables.ts';
import { tableInput } from '#local/dynamodb.ts';

/** Returns the moment; ISO 8601. */
export async function backUpTables(
  backups: BackupStore,
  stage: string,
  suffix: string,
): Promise<string> {
  const moment = new Date().toISOString();
  const client = new DynamoDBClient();
  for (const table of tables) {
    const name = tableName(stage, table.name);
    const { StreamSpecification: _, ...input } = tableInput(stage, table);
    const TableName = `${name}-${suffix}`;
    await client.send(new CreateTableCommand({ ...input, TableName }));
    for (const row of (await backups.rows(name)).values()) await backups.put(TableName, row);
  }
  client.destroy();
  return moment;
}
