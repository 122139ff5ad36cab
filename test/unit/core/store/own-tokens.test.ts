import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { expect, it } from 'vitest';
import { givenPassword } from '#core/clients/aws/password.ts';
import { ownTokenStore } from '#core/store/own-tokens.ts';
import { tableName } from '#core/store/table/tables.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startTables } from './local-tables.ts';

const table = tableName('test', 'service-tokens');
const token = {
  token: 'gAAAA-a-token',
  expiresAt: Date.UTC(2026, 0, 1),
  endpoints: [{ type: 'compute', interface: 'internal', region: 'one', url: 'http://nova.test' }],
};

const clients = perFile(startTables);

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
