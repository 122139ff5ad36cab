// Releases of Nova's functions, while servers boot. The emulator has no CodeDeploy: the suite does
// with the deployed check and aliases what CodeDeploy does, by slices of time instead of parts of
// the requests.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { shifted } from '#infra/access.ts';
import { liveAlias } from '#infra/stack/lambda-function.ts';
import { serve } from '#local/ports.ts';
import { adapt, type Template } from '#test/deploy/adaptations.ts';
import { bootDuring, prepareBoots } from '#test/deploy/boots.ts';
import { lastOf } from '#test/deploy/cdk.ts';
import type { Scenario } from '#test/deploy/scenario.ts';
import { type Stage, stackName, stackStage } from '#test/deploy/stage.ts';
import { deploy, synthesise } from './first-deployment.ts';

const names = shifted.map((name) => `${stackStage}-${name}`);
const slices = 10;
const sliceMs = 3000;

async function lambda<T>(stage: Stage, method: string, path: string, body?: object): Promise<T> {
  const scope = 'Credential=test/20260101/us-east-1/lambda/aws4_request';
  const response = await fetch(`${stage.emulator.url}/2015-03-31/functions/${path}`, {
    method,
    headers: { Authorization: `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=host, Signature=0` },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${response.status} ${text}`);
  return JSON.parse(text || 'null') as T;
}

/** The version that gets a function's requests. */
async function liveVersion(stage: Stage, name: string): Promise<string> {
  const path = `${name}/aliases/${liveAlias}`;
  return (await lambda<{ FunctionVersion: string }>(stage, 'GET', path)).FunctionVersion;
}

async function shift(stage: Stage, to: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, FunctionVersion] of to) {
    await lambda(stage, 'PUT', `${name}/aliases/${liveAlias}`, { FunctionVersion });
  }
}

async function newestVersions(stage: Stage): Promise<Map<string, string>> {
  const newest = new Map<string, string>();
  for (const name of names) {
    const path = `${name}/versions`;
    const { Versions } = await lambda<{ Versions: { Version: string }[] }>(stage, 'GET', path);
    const numbers = Versions.map(({ Version }) => Number(Version)).filter(Number.isInteger);
    newest.set(name, String(Math.max(...numbers)));
  }
  return newest;
}

async function liveVersions(stage: Stage): Promise<Map<string, string>> {
  const live = new Map<string, string>();
  for (const name of names) live.set(name, await liveVersion(stage, name));
  return live;
}

/**
 * Deploys new versions that get no request yet, and has the check look at them.
 *
 * @returns what the check says to CodeDeploy
 */
async function releaseWithCheck(
  stage: Stage,
  name: string,
  change: (template: Template) => void = () => {},
): Promise<string> {
  const said: string[] = [];
  const codeDeploy = await serve(
    createServer(async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      said.push(JSON.parse(body).status);
      response.end('{}');
    }),
    { host: '127.0.0.1', port: 0 },
  );
  const live = await liveVersions(stage);
  const settings = { historyDays: '30' };
  const { folder } = await synthesise(stage, name, settings, (template) => {
    for (const { Type, Properties } of Object.values(template.Resources)) {
      const { FunctionName } = Properties as { FunctionName?: unknown };
      if (Type === 'AWS::Lambda::Alias') {
        const { Ref } = FunctionName as { Ref: string };
        const own = String(template.Resources[Ref]?.Properties.FunctionName);
        Properties.FunctionVersion = live.get(own);
      }
      if (FunctionName !== `${stackStage}-release-check`) continue;
      const { Variables } = Properties.Environment as { Variables: Record<string, string> };
      Variables.AWS_ENDPOINT_URL_CODEDEPLOY = codeDeploy.url;
    }
    change(template);
  });
  try {
    await deploy(stage, folder);
    assert.deepEqual(await liveVersions(stage), live);
    const event = { DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'hook-1' };
    await lambda(stage, 'POST', `${stackStage}-release-check/invocations`, event);
  } finally {
    await codeDeploy.stop();
  }
  assert.equal(said.length, 1);
  return said[0] ?? '';
}

/** Its module has no such function: as of a bundle that does not load. */
function breakRequests(template: Template): void {
  const [broken] = Object.values(template.Resources).filter(
    ({ Properties }) => Properties?.FunctionName === `${stackStage}-accelerator-requests`,
  );
  assert.ok(broken);
  broken.Properties.Handler = 'index.missing';
}

/**
 * The way back to an earlier release, and up again.
 *
 * @param checkout of that release, with its packages installed
 */
export const wayBack = (checkout: string): Scenario => ({
  name: 'the stack goes back to an earlier release and up again, and no call fails',
  run: async (stage) => {
    await prepareBoots(stage);
    const earlier = join(stage.directory, 'assemblies', 'earlier');
    const ran = await stage.cdk.synth(earlier, stage.settings, checkout);
    assert.equal(ran.code, 0, lastOf(ran));
    adapt(earlier, stackName, undefined, { isEarlier: true });
    const { folder } = await synthesise(stage, 'up-again');
    const down = await bootDuring(stage, () => deploy(stage, earlier));
    const up = await bootDuring(stage, () => deploy(stage, folder));
    return `${down} servers have booted on the way back, ${up} on the way up, none failed`;
  },
});

export const releases: readonly Scenario[] = [
  {
    name: 'a release that cannot start is refused by its check, and no server meets it',
    run: async (stage) => {
      const booted = await bootDuring(stage, async () => {
        assert.equal(await releaseWithCheck(stage, 'broken', breakRequests), 'Failed');
        // CloudFormation rolls the stack back then.
        const { folder } = await synthesise(stage, 'before');
        await deploy(stage, folder);
      });
      return `${booted} servers have booted meanwhile, none failed`;
    },
  },
  {
    name: 'a release is checked, gets a tenth of the time, then all, and no call fails',
    run: async (stage) => {
      const booted = await bootDuring(stage, async () => {
        assert.equal(await releaseWithCheck(stage, 'canary'), 'Succeeded');
        const [before, after] = [await liveVersions(stage), await newestVersions(stage)];
        assert.notDeepEqual(before, after);
        for (let slice = 1; slice <= slices; slice++) {
          await shift(stage, after);
          await sleep(sliceMs / 10);
          await shift(stage, before);
          await sleep(sliceMs - sliceMs / 10);
        }
        await shift(stage, after);
        assert.deepEqual(await liveVersions(stage), after);
      });
      return `${booted} servers have booted meanwhile, none failed`;
    },
  },
];
