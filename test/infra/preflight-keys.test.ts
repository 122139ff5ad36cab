// The preflight names a key in KMS with which a deployment would fail.

import { describe, it } from 'vitest';
import { sampleOf } from '#test/support/vitest/sample.ts';
import { type Case, dataKeyArn, namesFault, serveAccount } from './preflight-account.ts';

serveAccount();

describe('it says, with the command that mends it, that', () => {
  const cases: readonly Case[] = [
    [
      'there is no such key',
      'keys in KMS',
      { key: undefined },
      { dataKeyArn },
      `dataKeyArn: there is no key ${dataKeyArn} in eu-west-1.`,
      'aws kms create-key --region eu-west-1',
    ],
    [
      'the key is disabled',
      'keys in KMS',
      { key: { KeyState: 'Disabled' } },
      { dataKeyArn },
      'dataKeyArn: the key is disabled.',
      `aws kms enable-key --region eu-west-1 --key-id ${dataKeyArn}`,
    ],
    [
      'the key of the secret will be deleted',
      'keys in KMS',
      { key: { KeyState: 'PendingDeletion', DeletionDate: 1_800_000_000 } },
      { passwordKeyArn: dataKeyArn },
      'passwordKeyArn: KMS will delete the key on 2027-01-15.',
      `aws kms cancel-key-deletion --region eu-west-1 --key-id ${dataKeyArn} && aws kms enable-key`,
    ],
    [
      'the key has no material',
      'keys in KMS',
      { key: { KeyState: 'PendingImport' } },
      { dataKeyArn },
      'dataKeyArn: the key is PendingImport.',
      'aws kms describe-key',
    ],
    [
      'the key is for signatures',
      'keys in KMS',
      { key: { KeySpec: 'RSA_2048', KeyUsage: 'SIGN_VERIFY' } },
      { dataKeyArn },
      'dataKeyArn: the key is RSA_2048 for SIGN_VERIFY, and must be symmetric, for encryption.',
      'aws kms create-key --region eu-west-1',
    ],
    [
      'CloudWatch Logs may not use the key',
      'keys in KMS',
      { keyPolicy: '{"Principal":{"Service":"logs.eu-west-2.amazonaws.com"}}' },
      { dataKeyArn },
      "dataKeyArn: the key's policy does not name logs.eu-west-1.amazonaws.com",
      'aws kms put-key-policy --region eu-west-1',
    ],
  ];
  const { sample, rest } = sampleOf(cases, 1);

  it.each(sample)('%s (a sample of one)', namesFault);

  it.each(rest)('%s', { tags: ['long'] }, namesFault);
});
