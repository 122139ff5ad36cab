// The stack changes while servers boot: two updates, and a new password.

import assert from 'node:assert/strict';
import { DescribeTableCommand, DynamoDBClient, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { password as first, idOf } from '#local/openstack/keystone/catalog.ts';
import { urlOf } from '#local/process/layout.ts';
import { bootDuring, prepareBoots } from '#test/deploy/boots.ts';
import type { Scenario } from '#test/deploy/scenario.ts';
import { type Stage, secretName, stackStage } from '#test/deploy/stage.ts';
import { deploy, failLast, synthesise } from './first-deployment.ts';

/** Updates the stack to the settings; each function is replaced. */
async function update(stage: Stage, name: string, settings: Readonly<Record<string, string>>) {
  const { folder } = await synthesise(stage, name, settings);
  const booted = await bootDuring(stage, () => deploy(stage, folder));
  const environment = await environmentOf(stage, 'emu-accelerator-requests');
  return { booted, environment };
}

async function environmentOf({ emulator }: Stage, name: string): Promise<Record<string, string>> {
  const path = `/2015-03-31/functions/${name}/configuration`;
  const scope = 'Credential=test/20260101/us-east-1/lambda/aws4_request';
  const headers = {
    Authorization: `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=host, Signature=0`,
  };
  const response = await fetch(`${emulator.url}${path}`, { headers });
  const { Environment } = (await response.json()) as {
    Environment: { Variables: Record<string, string> };
  };
  return Environment.Variables;
}

const table = `${stackStage}-arqs`;

async function isProtected(): Promise<boolean | undefined> {
  const client = new DynamoDBClient();
  const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
  client.destroy();
  return Table?.DeletionProtectionEnabled;
}

async function takeProtection(): Promise<void> {
  const client = new DynamoDBClient();
  await client.send(new UpdateTableCommand({ TableName: table, DeletionProtectionEnabled: false }));
  client.destroy();
}

/** docs/deploy.md, "Rotate the password". Boots a server between the steps, too. */
async function rotate(stage: Stage, from: string, to: string): Promise<void> {
  const call = (action: string, body: object) =>
    stage.ask<{ VersionId: string }>('secretsmanager', `secretsmanager.${action}`, {
      SecretId: secretName,
      ...body,
    });
  const { VersionId: version } = await call('GetSecretValue', {});
  const { VersionId: next } = await call('PutSecretValue', {
    SecretString: to,
    VersionStages: ['AWSPENDING'],
  });
  const keystone = `${urlOf(stage.layout, 'keystone')}/v3`;
  const changed = await fetch(`${keystone}/users/${idOf('user', 'cyborg')}/password`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ user: { password: to, original_password: from } }),
  });
  assert.equal(changed.status, 204);
  await bootDuring(stage, async () => {});
  await call('UpdateSecretVersionStage', {
    VersionStage: 'AWSCURRENT',
    MoveToVersionId: next,
    RemoveFromVersionId: version,
  });
  await call('UpdateSecretVersionStage', { VersionStage: 'AWSPENDING', RemoveFromVersionId: next });
}

export const changes: readonly Scenario[] = [
  {
    name: 'an update replaces every function while servers boot, and no call fails',
    run: async (stage) => {
      await prepareBoots(stage);
      await takeProtection();
      assert.match(await stage.preflight(), /switched off: emu-arqs/);
      const { booted, environment } = await update(stage, 'second', { historyDays: '30' });
      assert.equal(environment.CYBORG_HISTORY_DAYS, '30');
      assert.equal(await isProtected(), true);
      return `${booted} servers have booted meanwhile, and the tables are protected again`;
    },
  },
  {
    name: 'an update back to the settings before does the same',
    run: async (stage) => {
      const { booted, environment } = await update(stage, 'third', {});
      assert.equal(environment.CYBORG_HISTORY_DAYS, undefined);
      return `${booted} servers have booted meanwhile`;
    },
  },
  {
    name: 'an update that fails at its end is rolled back, and no call fails',
    run: async (stage) => {
      const { folder } = await synthesise(stage, 'refused', { historyDays: '30' }, failLast);
      const booted = await bootDuring(stage, async () => {
        const ran = await stage.cdk.deploy(folder);
        assert.notEqual(ran.code, 0);
        // The CDK cuts long words of its progress.
        assert.match(ran.output, /UPDATE_ROLLBACK_COMPLET/);
      });
      const environment = await environmentOf(stage, 'emu-accelerator-requests');
      assert.equal(environment.CYBORG_HISTORY_DAYS, undefined);
      return `${booted} servers have booted meanwhile`;
    },
  },
  {
    name: 'the password is rotated twice while servers boot, and no bind is lost',
    run: async (stage) => {
      const rotations = async () => {
        await rotate(stage, first, 'the second password');
        await rotate(stage, 'the second password', 'the third password');
      };
      const booted = await bootDuring(stage, rotations);
      return `${booted} servers have booted meanwhile`;
    },
  },
];
