// Reads that return complete results over all pages of DynamoDB.

import {
  BatchGetCommand,
  type BatchGetCommandOutput,
  GetCommand,
  QueryCommand,
  type QueryCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { present } from '#core/shapes/derive/present.ts';
import type { Row } from '#core/store/rows/rows.ts';
import type { Documents } from './documents.ts';

export type Key = Readonly<Record<string, string>>;

const batchGetMax = 100;

export async function getRow(client: Documents, table: string, key: Key): Promise<Row | undefined> {
  const { Item } = await client.send(
    new GetCommand({ TableName: table, Key: key, ConsistentRead: true }),
  );
  return Item;
}

/** Existing rows, in no order. */
export async function getRows(
  client: Documents,
  table: string,
  keys: readonly Key[],
): Promise<Row[]> {
  const rows: Row[] = [];
  let remaining: Record<string, unknown>[] = [...keys];
  while (remaining.length > 0) {
    const batch = remaining.slice(0, batchGetMax);
    const answer: BatchGetCommandOutput = await client.send(
      new BatchGetCommand({ RequestItems: { [table]: { Keys: batch, ConsistentRead: true } } }),
    );
    rows.push(...(answer.Responses?.[table] ?? []));
    remaining = [...(answer.UnprocessedKeys?.[table]?.Keys ?? []), ...remaining.slice(batchGetMax)];
  }
  return rows;
}

/** All rows of one partition. */
export async function queryPartition(client: Documents, table: string, pk: string): Promise<Row[]> {
  return queryAll(client, {
    TableName: table,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': pk },
    ConsistentRead: true,
  });
}

export async function queryAll(client: Documents, query: QueryCommandInput): Promise<Row[]> {
  const rows: Row[] = [];
  let from: Row | undefined;
  do {
    const page = await client.send(
      new QueryCommand({ ...query, ...present({ ExclusiveStartKey: from }) }),
    );
    rows.push(...(page.Items ?? []));
    from = page.LastEvaluatedKey;
  } while (from);
  return rows;
}
