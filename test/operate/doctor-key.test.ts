// A table whose key in KMS cannot be used: the doctor names the key, and since when.

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { perform } from '#core/command-line/checks.ts';
import type { CheckContext } from '#operate/doctor/check.ts';
import { storageChecks } from '#operate/doctor/storage.ts';

const key = 'arn:aws:kms:eu-west-1:123456789012:key/5c1a1c1e-7a3b-4000-8000-000000000001';

async function look(SSEDescription: object) {
  const check = storageChecks.find(({ name }) => name === 'table service-tokens');
  if (!check) throw new Error('There is no such check.');
  const Table = { TableStatus: 'ACTIVE', SSEDescription };
  const dynamoDb = { send: async () => ({ Table }) } as unknown as DynamoDBClient;
  const context = { deps: { settings: { stage: 'prod' } }, aws: { dynamoDb } };
  return perform(check, context as unknown as CheckContext);
}

it('names the key that DynamoDB cannot use, and the command that mends it', async () => {
  const InaccessibleEncryptionDateTime = new Date('2026-11-27T08:00:00Z');
  expect(await look({ KMSMasterKeyArn: key, InaccessibleEncryptionDateTime })).toEqual({
    check: 'table service-tokens',
    wrong: `prod-service-tokens cannot be read since 2026-11-27T08:00:00.000Z, because DynamoDB cannot use its key ${key}.`,
    remedy: expect.stringContaining(`aws kms enable-key --key-id ${key}`),
  });
});

it('finds nothing wrong with a key that can be used', async () => {
  expect(await look({ Status: 'ENABLED', KMSMasterKeyArn: key })).toMatchObject({
    ok: 'prod-service-tokens',
  });
});
