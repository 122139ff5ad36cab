// The bundle as it is deployed, loaded and called: only here a missing module or a broken
// replacement of the credential providers shows.
//
// @module-tag long

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { App, Stack } from 'aws-cdk-lib';
import { beforeAll, describe, expect, it } from 'vitest';
import { access, type FunctionName } from '#infra/access.ts';
import { contextOfProject } from '#infra/privileges/synthesized.ts';
import { metafileContext, readSettings } from '#infra/settings/settings.ts';
import { consoleFilesInto } from '#infra/stack/api.ts';
import { LambdaFunction, type LambdaFunctionProps } from '#infra/stack/lambda-function.ts';
import { createQueues } from '#infra/storage/queues.ts';
import { createStagingBucket } from '#infra/storage/staging.ts';
import { createTables } from '#infra/storage/tables.ts';
import { directoryPerFile, perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
let bundle: string;
const directory = directoryPerFile();

beforeAll(() => {
  bundle = join(makeBundle('device-profiles', 'functions/device-profiles/handler.ts'), 'index.mjs');
});

/** Returns the directory that would be deployed, with esbuild's metafile. */
function makeBundle(
  name: FunctionName,
  entry: string,
  more: Pick<LambdaFunctionProps, 'addFiles'> = {},
): string {
  const context = { ...contextOfProject(), [metafileContext]: true };
  const outdir = join(directory, name);
  const app = new App({ context, outdir });
  const stack = new Stack(app, 'bundle');
  const settings = readSettings(app.node);
  const tables = createTables(stack, settings);
  const queues = createQueues(stack, settings);
  new LambdaFunction(
    stack,
    { settings, tables, queues, staging: createStagingBucket(stack, settings) },
    { name, entry, timeoutSeconds: 29, memoryMb: 1024, ...more },
  );
  const { template } = app.synth().getStackByName('bundle');
  const [code] = Object.values(template.Resources as Record<string, { Properties: Code }>).flatMap(
    ({ Properties }) => Properties.Code ?? [],
  );
  return join(outdir, `asset.${code?.S3Key.replace('.zip', '')}`);
}

interface Code {
  readonly Code?: { readonly S3Key: string };
}

/** Runs Node in its own process: it has the file and the environment of the test only. */
async function call(
  path: string,
  environment: Readonly<Record<string, string | undefined>> = {},
  file = bundle,
) {
  const [rawPath, rawQueryString = ''] = path.split('?');
  const event = {
    version: '2.0',
    rawPath,
    rawQueryString,
    queryStringParameters: Object.fromEntries(new URLSearchParams(rawQueryString)),
    headers: { 'x-auth-token': 'admin-token', host: 'cyborg.test' },
    requestContext: { http: { method: 'GET' }, domainName: 'cyborg.test' },
  };
  const script = `
    const { handler } = await import(${JSON.stringify(file)});
    const answer = await handler(${JSON.stringify(event)}, {});
    process.stdout.write('ANSWER' + JSON.stringify(answer));`;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script],
    { cwd: tmpdir(), env: { ...process.env, ...environment } },
  );
  const answer = stdout.split('ANSWER')[1];
  if (answer === undefined) throw new Error(`The bundle did not answer: ${stdout}${stderr}`);
  return { ...JSON.parse(answer), output: `${stdout}${stderr}` };
}

/** The table of test/bench/README.md has this size, give or take a few. */
function expectDocumented(name: FunctionName, file: string): void {
  const document = readFileSync(new URL('../../test/bench/README.md', import.meta.url), 'utf8');
  const written = new RegExp(`^\\| \`${name}\` \\| (\\d+) \\|`, 'm').exec(document)?.[1];
  expect(Math.abs(Number(written) - statSync(file).size / 1024)).toBeLessThan(10);
}

describe('a deployed bundle', () => {
  it.each(['device-profiles', 'accelerator-requests'] as const)(
    "of %s is as small as documented, and small enough for Nova's path",
    (name) => {
      const file =
        name === 'device-profiles'
          ? bundle
          : join(makeBundle(name, `functions/${name}/handler.ts`), 'index.mjs');
      expectDocumented(name, file);
      expect(statSync(file).size / 1024).toBeLessThanOrEqual(455);
    },
  );

  it('answers from DynamoDB, with the credentials of its environment', async () => {
    await world.createProfile('fpga', { 'resources:FPGA': '1' });
    const { statusCode, body } = await call('/v2/device_profiles?name=fpga');
    expect(statusCode).toBe(200);
    expect(JSON.parse(body).device_profiles).toMatchObject([{ name: 'fpga' }]);
  });

  it('has no other source of credentials', async () => {
    const { statusCode, output } = await call('/v2/device_profiles', {
      AWS_ACCESS_KEY_ID: '',
      POWERTOOLS_LOG_LEVEL: 'INFO',
    });
    expect(statusCode).toBe(500);
    expect(output).toContain('The environment has no AWS credentials');
  });
});

describe.each(['nova-events', 'sweep', 'host-jobs'] as const)('the bundle of %s', (name) => {
  it('has the clients of the services that it may use, and no others', async () => {
    const made = makeBundle(name, `functions/consumers/${name}.ts`);
    expectDocumented(name, join(made, 'index.mjs'));
    const account = readFileSync(join(made, 'index.meta.json'), 'utf8');
    const has = (client: string) => account.includes(`node_modules/@aws-sdk/${client}/`);
    expect([has('client-iot'), has('client-s3')]).toEqual([
      access[name].jobs !== undefined,
      access[name].stagesImages === true,
    ]);
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      `console.log(typeof (await import(${JSON.stringify(join(made, 'index.mjs'))})).handler)`,
    ]);
    expect(stdout.trim()).toBe('function');
  });
});

describe('the bundle of the console', () => {
  let made: string;
  beforeAll(() => {
    made = makeBundle('console', 'functions/console/handler.ts', { addFiles: consoleFilesInto });
  });

  it('is as small as documented, and has no client of AWS', () => {
    expectDocumented('console', join(made, 'index.mjs'));
    const account = readFileSync(join(made, 'index.meta.json'), 'utf8');
    expect(account.includes('node_modules/@aws-sdk/')).toBe(false);
  });

  it('has the page and its files beside it, and no source map', async () => {
    const names = readdirSync(join(made, 'console'));
    expect(names).toContain('index.html.br');
    expect(names.filter((name) => name.endsWith('.map'))).toEqual([]);
    const text = readFileSync(join(made, 'console/index.html'), 'utf8');
    const named = [...text.matchAll(/"\/console\/([^"]+)"/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(0);
    expect(names).toEqual(expect.arrayContaining(named));
  });

  it('serves them with neither a password nor credentials of AWS', async () => {
    const without = { CYBORG_OS_PASSWORD: '', AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' };
    const answer = await call('/console', without, join(made, 'index.mjs'));
    expect(answer.statusCode).toBe(200);
    const page = Buffer.from(answer.body, 'base64').toString();
    expect(page).toBe(readFileSync(join(made, 'console/index.html'), 'utf8'));
  });
});
