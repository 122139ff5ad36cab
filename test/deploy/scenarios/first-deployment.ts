// The first deployment fails at its very end, is rolled back, and is tried again.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { password } from '#local/openstack/keystone/catalog.ts';
import { adapt, type Template } from '#test/deploy/adaptations.ts';
import { lastOf, outputsOf } from '#test/deploy/cdk.ts';
import { leftOf, resourcesOf } from '#test/deploy/resources.ts';
import type { Scenario } from '#test/deploy/scenario.ts';
import { type Stage, secretName, stackName } from '#test/deploy/stage.ts';

/** Synthesises with these settings and adapts the template. Returns the assembly's folder. */
export async function synthesise(
  stage: Stage,
  name: string,
  settings: Readonly<Record<string, string>> = {},
  change?: (template: Template) => void,
): Promise<{ folder: string; adapted: string[] }> {
  const given = { ...stage.settings, ...settings };
  const folder = join(stage.directory, 'assemblies', name);
  const synthesised = join(stage.directory, 'synthesised', digestOf(settings));
  if (!existsSync(synthesised)) {
    const ran = await stage.cdk.synth(synthesised, given);
    assert.equal(ran.code, 0, lastOf(ran));
  }
  cpSync(synthesised, folder, { recursive: true });
  return { folder, adapted: adapt(folder, stackName, change) };
}

function digestOf(settings: Readonly<Record<string, string>>): string {
  return createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 8);
}

/** Deploys, and points the API's address to the stack. Returns the outputs. */
export async function deploy(stage: Stage, folder: string, ...options: readonly string[]) {
  const ran = await stage.cdk.deploy(folder, ...options);
  assert.equal(ran.code, 0, lastOf(ran));
  const outputs = outputsOf(ran);
  stage.endpoint = outputs.Endpoint;
  return outputs;
}

/** Adds a resource that the emulator refuses, made last: the tables are protected by then. */
export function failLast(template: Template): void {
  const others = Object.keys(template.Resources);
  template.Resources.Refused = {
    Type: 'AWS::CloudWatch::Alarm',
    Properties: { Metrics: [] },
    DependsOn: others,
  };
}

export const firstDeployment: readonly Scenario[] = [
  {
    name: 'the preflight says what a new account lacks, until it is there',
    run: async (stage) => {
      const before = await stage.preflight();
      assert.match(before, /npx cdk bootstrap aws:\/\/000000000000\/us-east-1/);
      assert.match(before, /aws secretsmanager create-secret --region us-east-1 --name cyborg/);
      assert.match(before, / 2 wrong, /);
      const bootstrap = await stage.cdk.bootstrap();
      assert.equal(bootstrap.code, 0, lastOf(bootstrap));
      await stage.ask('secretsmanager', 'secretsmanager.CreateSecret', {
        Name: secretName,
        SecretString: password,
      });
      const after = await stage.preflight();
      assert.match(after, / 0 wrong, /);
      return after.trim();
    },
  },
  {
    name: 'a first deployment that fails at its end leaves nothing behind',
    run: async (stage) => {
      const { folder } = await synthesise(stage, 'failing', {}, failLast);
      const ran = await stage.cdk.deploy(folder);
      assert.notEqual(ran.code, 0);
      assert.match(ran.output, /Refused/);
      assert.match(ran.output, /TableProtection.*CREATE_COMPLETE|CREATE_COMPLETE.*TableProtection/);
      assert.equal(await leftOf(stage), '');
      assert.match(await stage.preflight(), /ROLLBACK_COMPLETE[^→]*→ npx cdk destroy --force/);
      return 'the tables were protected by then; the rollback has removed them all the same';
    },
  },
  {
    name: 'it is deleted and deployed again, and everything is there',
    run: async (stage) => {
      const { folder, adapted } = await synthesise(stage, 'first');
      const destroyed = await stage.cdk.destroy(folder);
      assert.equal(destroyed.code, 0, lastOf(destroyed));
      await deploy(stage, folder);
      const { tables = [], queues = [] } = await resourcesOf(stage);
      assert.deepEqual([tables.length, queues.length > 10], [5, true]);
      return adapted.join('\n');
    },
  },
];
