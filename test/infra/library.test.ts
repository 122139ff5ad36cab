// The package of the stack, as a platform team has it: packed, unpacked below node_modules of the
// example app, where Node strips no types, and without the project's own dependencies or sources.
//
// @module-tag long

import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { App } from 'aws-cdk-lib';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { access } from '#infra/access.ts';
import { CyborgStack } from '#infra/stack/cyborg-stack.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const root = join(import.meta.dirname, '../..');
const example = join(root, 'examples/platform-app');
const directory = directoryPerFile();
const app = join(directory, 'app');
let files: readonly string[];

const settings = {
  stage: 'plain',
  keystoneUrl: 'https://keystone.cloud.test/v3',
  passwordSecret: 'cyborg/password',
};

/** Statements that the types refuse, and what the compiler says of each. */
const refusals = [
  [
    "new CyborgStack(new App(), 'b', { settings: { ...settings, keepdata: false } });",
    "'keepdata' does not exist in type 'CyborgSettings",
  ],
  [
    "new CyborgStack(new App(), 'c', { settings: { ...settings, eventStyle: 'loud' } });",
    'Type \'"loud"\' is not assignable to type',
  ],
  ["stack.functions['accelerator-request'];", "'accelerator-request' does not exist on type"],
  ['stack.functions.console.functionArn;', "'stack.functions.console' is possibly 'undefined'"],
] as const;

const refused = `
import { App } from 'aws-cdk-lib';
import { CyborgStack } from 'cyborg-serverless';
const settings = ${JSON.stringify(settings)};
const stack = new CyborgStack(new App(), 'a', { settings: { ...settings, keepData: false } });
${refusals.map(([statement]) => statement).join('\n')}
`;

/** An app that is a CommonJS module, with flags and a context of its own. */
const plain = `
const { App } = require('aws-cdk-lib');
const { CyborgStack } = require('cyborg-serverless');
const context = { stage: 'other', keepData: false, '@aws-cdk/aws-iam:minimizePolicies': false };
const app = new App({ outdir: 'plain', context });
const props = { terminationProtection: true, tags: { team: 'platform' } };
const settings = { ...${JSON.stringify(settings)}, ...JSON.parse(process.argv[2] ?? '{}') };
const stack = new CyborgStack(app, 'cyborg-plain', { settings, ...props });
app.synth();
console.log(JSON.stringify({
  tables: Object.keys(stack.tables), functions: Object.keys(stack.functions),
  queues: Object.keys(stack.queues), alarms: stack.alarms.length,
  constructs: [stack.httpApi, stack.eventBus, stack.stagingBucket].map((each) => each.node.path),
  isProtected: stack.terminationProtection, hasTopic: stack.alarmTopic !== undefined, tags: stack.tags.tagValues(),
}));
`;

beforeAll(async () => {
  await run(root, 'infra/library/pack.ts', '--out', join(directory, 'package'));
  const pack = ['pack', join(directory, 'package'), '--json', '--pack-destination', directory];
  const { stdout } = await promisify(execFile)('npm', pack, { cwd: directory });
  const [packed] = JSON.parse(stdout);
  files = packed.files.map(({ path }: { readonly path: string }) => path);
  cpSync(example, app, { recursive: true, filter: (path) => !/node_modules|cdk\.out/.test(path) });
  const installed = join(app, 'node_modules/cyborg-serverless');
  mkdirSync(installed, { recursive: true });
  const unpack = ['-xzf', join(directory, packed.filename), '--strip-components=1'];
  await promisify(execFile)('tar', [...unpack, '-C', installed]);
  for (const name of ['aws-cdk-lib', 'constructs', '@types']) {
    symlinkSync(join(root, 'node_modules', name), join(app, 'node_modules', name));
  }
  writeFileSync(join(app, 'refused.ts'), refused);
  writeFileSync(join(app, 'plain.cjs'), plain);
  const page = readFileSync(join(root, 'docs/library.md'), 'utf8');
  writeFileSync(join(app, 'page.ts'), /^```ts\n(.*?)^```$/ms.exec(page)?.[1] ?? '');
  const extended = { extends: './tsconfig.json', files: ['app.ts', 'page.ts', 'refused.ts'] };
  writeFileSync(join(app, 'tsconfig.refused.json'), JSON.stringify(extended));
});

/** Output of Node. @throws if it fails */
async function run(cwd: string, ...words: string[]): Promise<string> {
  const env = { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` };
  return (await promisify(execFile)(process.execPath, words, { cwd, env })).stdout;
}

type Json = ReturnType<typeof JSON.parse>;

function templateIn(folder: string, name: string): Json {
  return JSON.parse(readFileSync(join(app, folder, `${name}.template.json`), 'utf8'));
}

const ofType = (template: Json, type: string) =>
  Object.values<Json>(template.Resources).filter((each) => each.Type === type);

describe('the package', () => {
  it('has the module, its types and a bundle of each function, and no sources', () => {
    const bundles = Object.keys(access).map((name) => `functions/${name}/index.mjs`);
    const others = ['LICENSE', 'README.md', 'index.js', 'package.json'];
    const beside = files.filter((file) => !/^(types|functions\/console\/console)\//.test(file));
    expect(beside.toSorted()).toEqual([...others, ...bundles].toSorted());
    expect(files).toContain('functions/console/console/index.html');
    expect(files.filter((file) => /(?<!\.d)\.tsx?$/.test(file))).toEqual([]);
  });

  it('is for the CDK that its bundles were tested with, which the example app has, too', () => {
    const { devDependencies, version } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    );
    const manifest = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
    const given = { ...manifest.dependencies, ...manifest.devDependencies };
    const { 'cyborg-serverless': tarball, ...pinned } = given;
    for (const [name, each] of Object.entries(pinned)) {
      expect([name, each]).toEqual([name, devDependencies[name]]);
    }
    expect(tarball).toBe(`file:../../dist/cyborg-serverless-${version}.tgz`);
  });
});

describe('the example app', () => {
  it('has the types of the package, as has docs/library.md, and they refuse wrong settings', async () => {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const told: string = await run(app, compiler, '-p', 'tsconfig.refused.json').catch(
      ({ stdout }) => stdout,
    );
    // One error for each statement, and none in the app, on the page or in the lines before.
    const errors = told.split('\n').filter((line) => / error TS/.test(line));
    const first = refused.split('\n').indexOf(refusals[0][0]) + 1;
    expect(errors).toHaveLength(refusals.length);
    for (const [index, [, reason]] of refusals.entries()) {
      expect(errors[index]).toContain(`refused.ts(${first + index},`);
      expect(errors[index]).toContain(reason);
    }
  });

  it('is synthesised: its stacks refer to those of the package, and these to it', async () => {
    // The CDK's command line starts an app so, and takes seconds itself.
    const { app: command } = JSON.parse(readFileSync(join(app, 'cdk.json'), 'utf8'));
    vi.stubEnv('CDK_OUTDIR', 'cdk.out');
    await run(app, ...command.split(' ').slice(1));
    vi.unstubAllEnvs();
    const [cyborg, platform, extras] = ['cyborg', 'platform', 'extras'].map((name) =>
      templateIn('cdk.out', name),
    );
    const [alarm] = ofType(cyborg, 'AWS::CloudWatch::Alarm');
    expect(JSON.stringify(alarm.Properties)).toMatch(
      /"AlarmActions":\[\{"Fn::ImportValue":"platform:[^"]*Pager/,
    );
    const connected = ofType(cyborg, 'AWS::Lambda::Function').filter(
      ({ Properties }) => Properties.VpcConfig?.SubnetIds.length === 2,
    );
    expect(connected.length).toBeGreaterThan(5);
    expect(ofType(platform, 'AWS::EC2::VPCEndpoint')).toHaveLength(1);
    const [slow] = ofType(extras, 'AWS::CloudWatch::Alarm');
    expect(JSON.stringify(slow.Properties.Dimensions)).toContain('AcceleratorRequestsFunction');
    // The CDK adds one that runs during a deployment only.
    const functions = ofType(cyborg, 'AWS::Lambda::Function').filter(
      ({ Properties }) => Properties.FunctionName.replace('prod-', '') in access,
    );
    expect(functions).toHaveLength(Object.keys(access).length);
    for (const { Properties } of functions) {
      const asset = `asset.${Properties.Code.S3Key.replace('.zip', '')}`;
      expect(existsSync(join(app, 'cdk.out', asset, 'index.mjs')), asset).toBe(true);
    }
  });
});

describe('a CommonJS app', () => {
  it('has the same template as a checkout, whatever its own context and flags are', async () => {
    const told = JSON.parse(await run(app, 'plain.cjs'));
    expect(told).toMatchObject({
      tables: ['arqs', 'inventory', 'device-profiles', 'history', 'service-tokens'],
      constructs: ['Api/HttpApi', 'EventBus', 'StagingBucket'].map(
        (path) => `cyborg-plain/${path}`,
      ),
      isProtected: true,
      hasTopic: false,
      tags: { application: 'cyborg-serverless', stage: 'plain', team: 'platform' },
    });
    expect(told.functions.toSorted()).toEqual(Object.keys(access).toSorted());
    expect(told.queues).toContain('host-jobs');
    expect(told.alarms).toBeGreaterThan(10);
    const here = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
    new CyborgStack(here, 'cyborg-plain', { settings });
    const withoutAssets = (template: Json) =>
      JSON.parse(
        JSON.stringify(template)
          .replaceAll(/[0-9a-f]{64}/g, 'asset')
          // A version is named by the asset's digest.
          .replaceAll(/(CurrentVersion[0-9A-F]{8})[0-9a-f]{32}/g, '$1'),
      );
    expect(withoutAssets(templateIn('plain', 'cyborg-plain'))).toEqual(
      withoutAssets(here.synth().getStackByName('cyborg-plain').template),
    );
  });

  it('gets a sentence for wrong settings', async () => {
    const wrong = JSON.stringify({ stage: 'Not a stage', keepdata: false });
    const told: string = await run(app, 'plain.cjs', wrong).catch(({ stderr }) => stderr);
    const said = /DeploymentInvalid: (.*)$/m.exec(told)?.[1];
    expect(said).toMatch(/^The deployment's settings are wrong\. stage: at most 15 .*keepdata: /);
    expect(said).toMatch(/did you mean keepData\?\. Set them in the property settings of Cybo/);
  });
});
