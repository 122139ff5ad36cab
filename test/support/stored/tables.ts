// All stored rows, so that a test can check whether anything changed.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { tableName, tables } from '#core/store/table/tables.ts';
import { stage } from '#test/support/world.ts';

/**
 * Tables with state. The token of our own user is not state: each request may store it. The
 * history follows from the streams of the others, some time later.
 */
const stateful = tables.filter(({ name }) => name !== 'service-tokens' && name !== 'history');

/** All rows of all tables with state, in a fixed order. */
export async function everythingStored(): Promise<Record<string, unknown>[]> {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient());
  const pages = await Promise.all(
    stateful.map(({ name }) => client.send(new ScanCommand({ TableName: tableName(stage, name) }))),
  );
  const rows = pages.flatMap(({ Items = [] }) => Items);
  return rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function keyOf(row: Record<string, unknown>): string {
  return `${String(row.pk)} ${String(row.sk ?? '')}`;
}
