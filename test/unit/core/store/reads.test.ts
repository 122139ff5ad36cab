import { BatchGetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { type AwsClientStub, mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  createDocuments,
  type DocumentClients,
  type Documents,
} from '#core/store/table/documents.ts';
import { getRows, queryPartition } from '#core/store/table/reads.ts';

const table = 'test-arqs';
let clients: DocumentClients;
let dynamoDb: AwsClientStub<Documents>;
beforeEach(() => {
  clients = createDocuments({ region: 'us-east-1' });
  // Mocks this client only: a mock of the class would affect every other test.
  dynamoDb = mockClient(clients.strong);
});
afterEach(() => {
  dynamoDb.restore();
  clients.close();
});

const keys = (count: number) => Array.from({ length: count }, (_, at) => ({ pk: `ARQ#${at}` }));

it('asks for at most 100 rows at once, and again for those that DynamoDB left out', async () => {
  dynamoDb.on(BatchGetCommand).callsFake(({ RequestItems }) => {
    const wanted = RequestItems[table].Keys as Record<string, string>[];
    expect(wanted.length).toBeLessThanOrEqual(100);
    const half = Math.ceil(wanted.length / 2);
    return {
      Responses: { [table]: wanted.slice(0, half) },
      UnprocessedKeys: { [table]: { Keys: wanted.slice(half) } },
    };
  });
  const rows = await getRows(clients.strong, table, keys(230));
  expect(new Set(rows.map(({ pk }) => pk)).size).toBe(230);
  expect(rows).toHaveLength(230);
});

it('makes no request without keys', async () => {
  expect(await getRows(clients.strong, table, [])).toEqual([]);
  expect(dynamoDb.calls()).toEqual([]);
});

it('reads a partition to its end, consistently', async () => {
  const next = { pk: 'RP#1', sk: 'HANDLE#1' };
  dynamoDb
    .on(QueryCommand)
    .resolvesOnce({ Items: [{ sk: 'DEPLOYABLE' }], LastEvaluatedKey: next })
    .resolvesOnce({ Items: [], LastEvaluatedKey: next })
    .resolvesOnce({ Items: [{ sk: 'HANDLE#2' }] });
  const rows = await queryPartition(clients.strong, 'test-inventory', 'RP#1');
  expect(rows).toEqual([{ sk: 'DEPLOYABLE' }, { sk: 'HANDLE#2' }]);
  const inputs = dynamoDb.commandCalls(QueryCommand).map(({ args: [{ input }] }) => input);
  expect(inputs.every(({ ConsistentRead, IndexName }) => ConsistentRead && !IndexName)).toBe(true);
  expect(inputs.map(({ ExclusiveStartKey }) => ExclusiveStartKey)).toEqual([undefined, next, next]);
});
