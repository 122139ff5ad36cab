import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { givenPassword } from '#core/clients/aws/password.ts';
import { ownTokenStore } from '#core/store/own-tokens.ts';
import { createDocuments, type DocumentClients } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { createTables, type LocalDynamoDb, startDynamoDb } from '#local/aws/dynamodb.ts';

const table = tableName('test', 'service-tokens');
const token = {
  token: 'gAAAA-a-token',
  expiresAt: Date.UTC(2026, 0, 1),
  endpoints: [{ type: 'compute', interface: 'internal', region: 'one', url: 'http://nova.test' }],
};

let engine: LocalDynamoDb;
let clients: DocumentClients;
beforeAll(async () => {
  engine = await startDynamoDb();
  const config = {
    endpoint: engine.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  };
  clients = createDocuments(config);
  await createTables(new DynamoDBClient(config), 'test');
});
afterAll(async () => {
  clients.close();
  await engine.stop();
});

const store = (owner: string, password = 'secret') =>
  ownTokenStore(clients.strong, table, { owner, passwords: givenPassword(password) });

it('gives the token to a container with the same user and password', async () => {
  expect(await store('cyborg').read()).toBeUndefined();
  await store('cyborg').write(token);
  expect(await store('cyborg').read()).toEqual(token);
  expect(await store('another').read()).toBeUndefined();
});

it('is unreadable with the table alone', async () => {
  await store('cyborg').write(token);
  expect(await store('cyborg', 'a guess').read()).toBeUndefined();
  const { Items } = await clients.documents.send(new ScanCommand({ TableName: table }));
  expect(JSON.stringify(Items)).not.toContain('gAAAA');
});

it('is deleted by DynamoDB when the token has expired', async () => {
  await store('cyborg').write(token);
  const { Items = [] } = await clients.documents.send(new ScanCommand({ TableName: table }));
  expect(Items.map((row) => row.expires_at)).toEqual([token.expiresAt / 1000]);
});
