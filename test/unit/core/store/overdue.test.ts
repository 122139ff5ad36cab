import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listings } from '#core/store/listings.ts';
import { duePartition } from '#core/store/rows/shards.ts';
import { createDocuments, type DocumentClients } from '#core/store/table/documents.ts';

let clients: DocumentClients;
beforeEach(() => {
  clients = createDocuments({ region: 'us-east-1' });
});
afterEach(() => clients.close());

it('reads the deadlines of all shards but the one that is throttled', async () => {
  const [throttled, answering] = ['a', 'b'].map((uuid) => duePartition('binding', uuid));
  expect(throttled).not.toBe(answering);
  // Mocks this client only: a mock of the class would affect every other test.
  mockClient(clients.strong)
    .on(QueryCommand)
    .callsFake(({ ExpressionAttributeValues: values }) => {
      if (values[':due'] === throttled) throw new Error('throttled');
      const Items = values[':due'] === answering ? [{ pk: 'INSTANCE#b', due_at: '2026' }] : [];
      return { Items };
    });
  const tables = { arqs: 'arqs', inventory: 'inventory', profiles: 'profiles' };
  const overdue = await listings(clients.strong, tables).overdue('binding', '2027');
  expect(overdue.uuids).toEqual(['b']);
  expect(overdue.faults).toMatchObject([{ message: 'throttled' }]);
});
