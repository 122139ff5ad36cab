// A fake restore to a point in time: copies of the stage's tables under other names and without
// streams, as DynamoDB makes them.

import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { restoreBackup } from '#core/operations/restore/restore-backup.ts';
import { type BackupStore, backupStore } from '#core/store/backups/backups.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName, tables } from '#core/store/table/tables.ts';
import { tableInput } from '#local/aws/dynamodb/dynamodb.ts';

/** Returns the moment of the backup; ISO 8601. */
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

export interface Backups {
  readonly store: BackupStore;
  /** The suffix of the tables of the last backup. */
  suffix(): string;
  /** The moment of the last backup; ISO 8601. */
  moment(): string;
  take(): Promise<void>;
  /** Restores the last backup. */
  restore(store?: BackupStore, isDryRun?: boolean): ReturnType<typeof restoreBackup>;
}

export function createBackups(stage: string, clock = Date.now): Backups {
  const store = backupStore(createDocuments().documents);
  let taken = 0;
  let moment = '';
  const suffix = () => String(taken);
  return {
    store,
    suffix,
    moment: () => moment,
    take: async () => {
      taken += 1;
      moment = await backUpTables(store, stage, suffix());
    },
    restore: (backups = store, isDryRun = false) =>
      restoreBackup({ backups, stage, suffix: suffix(), moment, clock, isDryRun }),
  };
}
