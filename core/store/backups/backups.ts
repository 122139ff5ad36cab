// Scans and plain writes of whole tables. Only the restore of a backup needs them.

import { DeleteCommand, PutCommand, ScanCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { present } from '#core/shapes/derive/present.ts';
import { type Row, restoredKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import type { Key } from '#core/store/table/reads.ts';

export interface BackupStore {
  /** Every row, by its key as text; consistent, row by row. */
  rows(table: string): Promise<Map<string, Row>>;
  put(table: string, row: Row): Promise<void>;
  delete(table: string, row: Row): Promise<void>;
  /**
   * Marks the handle as restored, so that no bind claims it. A handle without a row stays
   * deleted.
   */
  withhold(table: string, handle: Row, moment: string): Promise<void>;
  /** Stores the moment, so that handles that later reports add are marked as restored too. */
  noteMoment(table: string, moment: string): Promise<void>;
}

export function backupStore(client: Documents): BackupStore {
  return {
    async rows(table) {
      const rows = new Map<string, Row>();
      let from: Row | undefined;
      do {
        const page = await client.send(
          new ScanCommand({
            TableName: table,
            ConsistentRead: true,
            ...present({ ExclusiveStartKey: from }),
          }),
        );
        for (const row of page.Items ?? []) rows.set(toKeyText(row), row);
        from = page.LastEvaluatedKey;
      } while (from);
      return rows;
    },

    async put(table, row) {
      await client.send(new PutCommand({ TableName: table, Item: row }));
    },

    async delete(table, row) {
      await client.send(new DeleteCommand({ TableName: table, Key: toKey(row) }));
    },

    async withhold(table, handle, moment) {
      await client
        .send(
          new UpdateCommand({
            TableName: table,
            Key: toKey(handle),
            UpdateExpression: 'SET restored_at = if_not_exists(restored_at, :moment)',
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeValues: { ':moment': moment },
          }),
        )
        .catch((error: Error) => {
          if (error.name !== 'ConditionalCheckFailedException') throw error;
        });
    },

    async noteMoment(table, moment) {
      await client.send(
        new PutCommand({ TableName: table, Item: { ...restoredKey(), since: moment } }),
      );
    },
  };
}

function toKey({ pk, sk }: Row): Key {
  return { pk: String(pk), ...(sk !== undefined && { sk: String(sk) }) };
}

/** Unique within a table. */
function toKeyText({ pk, sk }: Row): string {
  return JSON.stringify([pk, sk]);
}
