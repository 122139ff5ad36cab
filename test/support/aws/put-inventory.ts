import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import type { Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { stage } from '#test/support/world.ts';

/** DynamoDB's bound on one BatchWriteItem. */
const batchWriteMax = 25;

/** Stores thousands of rows of the inventory. */
export async function putInventory(documents: Documents, rows: readonly Row[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(rows.length / batchWriteMax) }, (_, at) =>
    rows.slice(at * batchWriteMax, (at + 1) * batchWriteMax),
  );
  const waiting = batches.values();
  const writer = async () => {
    for (const batch of waiting) {
      const requests = batch.map((Item) => ({ PutRequest: { Item } }));
      const RequestItems = { [tableName(stage, 'inventory')]: requests };
      await documents.send(new BatchWriteCommand({ RequestItems }));
    }
  };
  await Promise.all([writer(), writer(), writer(), writer()]);
}
