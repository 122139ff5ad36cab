// The stack is removed, its tables are taken back by a new stack, and everything is removed.

import assert from 'node:assert/strict';
import { DynamoDBClient, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { waitFor } from '#local/demo/demo-client.ts';
import { lastOf } from '#test/deploy/cdk.ts';
import { leftOf, resourcesOf } from '#test/deploy/resources.ts';
import type { Scenario } from '#test/deploy/scenario.ts';
import { type Stage, stackStage } from '#test/deploy/stage.ts';
import { deploy, synthesise } from './first-deployment.ts';

async function destroy(stage: Stage, folder: string): Promise<void> {
  const ran = await stage.cdk.destroy(folder);
  stage.endpoint = undefined;
  assert.equal(ran.code, 0, lastOf(ran));
}

async function profilesOf({ api }: Stage): Promise<string[]> {
  const told = await api.get<{ device_profiles: { name: string }[] }>(
    '/device_profiles',
    'admin-token',
  );
  return told.device_profiles.map(({ name }) => name).sort();
}

let profiles: string[] = [];

export const removal: readonly Scenario[] = [
  {
    name: 'cdk destroy removes all but the tables',
    run: async (stage) => {
      profiles = await profilesOf(stage);
      await stage.stopHost();
      await removeHosts(stage);
      const { folder } = await synthesise(stage, 'fourth');
      await destroy(stage, folder);
      assert.equal(await leftOf(stage), '5 tables');
      assert.match(
        await stage.preflight(),
        /names of tables[^→]*→ npx cdk deploy --import-existing/,
      );
      return '';
    },
  },
  {
    name: 'a new stack takes the kept tables back, with their rows',
    run: async (stage) => {
      const { tables = [] } = await resourcesOf(stage);
      const client = new DynamoDBClient();
      for (const TableName of tables) {
        await client.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }));
      }
      client.destroy();
      const { folder } = await synthesise(stage, 'fifth');
      await deploy(stage, folder, '--import-existing-resources');
      assert.deepEqual(await profilesOf(stage), profiles);
      return `${profiles.length} device profiles are there again`;
    },
  },
  {
    name: 'with keepData=false cdk destroy removes the tables, too',
    run: async (stage) => {
      const { folder } = await synthesise(stage, 'last', { keepData: 'false' });
      await deploy(stage, folder);
      await destroy(stage, folder);
      assert.equal(await leftOf(stage), '');
      return '';
    },
  },
];

/** The command refuses while AWS IoT has not noticed that the agent has ended. */
async function removeHosts(stage: Stage): Promise<void> {
  const remove = () =>
    stage.ops('enrol', 'remove', '--all', '--stage', stackStage).then(
      () => 'removed',
      (error: Error) => error.message,
    );
  await waitFor('the hosts to be removed', remove, (told) => told === 'removed');
}
