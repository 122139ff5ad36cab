// The data of a live stage move under an operator's key in KMS. The emulator encrypts nothing and
// checks no right; it keeps what the template sets, but for the bucket.

import assert from 'node:assert/strict';
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { bootDuring } from '#test/deploy/boots.ts';
import { resourcesOf } from '#test/deploy/resources.ts';
import type { Scenario } from '#test/deploy/scenario.ts';
import { type Stage, stackStage } from '#test/deploy/stage.ts';
import { deploy, synthesise } from './first-deployment.ts';

/** The keys of all queues and logs of the stage. */
async function keysOf(stage: Stage): Promise<Set<unknown>> {
  const { queues = [] } = await resourcesOf(stage);
  const keys = new Set<unknown>();
  const sqs = new SQSClient({ useQueueUrlAsEndpoint: false });
  for (const QueueUrl of queues) {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] });
    keys.add((await sqs.send(command)).Attributes?.KmsMasterKeyId);
  }
  sqs.destroy();
  const { logGroups } = await stage.ask<{ logGroups: { kmsKeyId?: string }[] }>(
    'logs',
    'Logs_20140328.DescribeLogGroups',
    { logGroupNamePrefix: `/aws/lambda/${stackStage}-` },
  );
  for (const { kmsKeyId } of logGroups) keys.add(kmsKeyId);
  return keys;
}

/** The emulator's global tables take the type of the encryption, and not the replica's key. */
async function encryptionOfTables(stage: Stage): Promise<Set<unknown>> {
  const { tables = [] } = await resourcesOf(stage);
  const types = new Set<unknown>();
  const dynamoDb = new DynamoDBClient();
  for (const TableName of tables) {
    const { Table } = await dynamoDb.send(new DescribeTableCommand({ TableName }));
    types.add(Table?.SSEDescription?.SSEType);
  }
  dynamoDb.destroy();
  return types;
}

export const dataKey: readonly Scenario[] = [
  {
    name: 'the data of a live stage move under a key while servers boot, and no call fails',
    run: async (stage) => {
      const kms = <T>(action: string, body: object) =>
        stage.ask<T>('kms', `TrentService.${action}`, body);
      const { KeyMetadata } = await kms<{ KeyMetadata: { Arn: string } }>('CreateKey', {});
      const { Arn: dataKeyArn } = KeyMetadata;
      await kms('DisableKey', { KeyId: dataKeyArn });
      assert.match(await stage.preflight({ dataKeyArn }), /dataKeyArn: the key is disabled\./);
      await kms('EnableKey', { KeyId: dataKeyArn });
      assert.match(await stage.preflight({ dataKeyArn }), /policy does not name logs\.us-east-1/);
      const Principal = { Service: 'logs.us-east-1.amazonaws.com' };
      const statement = { Effect: 'Allow', Principal, Action: 'kms:*', Resource: '*' };
      const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
      await kms('PutKeyPolicy', { KeyId: dataKeyArn, PolicyName: 'default', Policy });
      assert.match(await stage.preflight({ dataKeyArn }), /ok {5}keys in KMS/);
      const { folder } = await synthesise(stage, 'under-a-key', { dataKeyArn });
      const booted = await bootDuring(stage, () => deploy(stage, folder));
      assert.deepEqual([...(await keysOf(stage))], [dataKeyArn]);
      assert.deepEqual([...(await encryptionOfTables(stage))], ['KMS']);
      return `${booted} servers have booted meanwhile`;
    },
  },
];
