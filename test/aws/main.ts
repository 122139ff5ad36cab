// `npm run test:aws -- --endpoint URL`: the integration suite against another implementation of
// AWS. What it makes there is named by the run and removed at the end; files that need a missing
// service are skipped by name. `--local` puts the local engines behind one endpoint, which tests
// this program.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startDynamoDb } from '#local/aws/dynamodb.ts';
import { startQueues } from '#local/aws/queues.ts';
import { startS3 } from '#local/aws/s3.ts';
import type { Running } from '#local/process/ports.ts';
import { endpointVariable, lacksVariable, runVariable } from '#test/support/engines.ts';
import { startIotCore } from '#test/support/iot-core.ts';
import { startFrontDoor } from './front-door.ts';
import { missingAt } from './probe.ts';
import { leftOut, type Service, services, suite } from './suite.ts';
import { tidy } from './tidy.ts';

const usage = `npm run test:aws -- --endpoint <URL> [--only <pattern>]
npm run test:aws -- --local [--without <service>] [--only <pattern>]

Region and credentials are those of AWS's own environment; an emulator takes any.`;

const { values: given } = parseArgs({
  options: {
    endpoint: { type: 'string' },
    local: { type: 'boolean', default: false },
    without: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', default: '' },
  },
});

async function main(): Promise<void> {
  process.env.AWS_REGION ??= 'us-east-1';
  process.env.AWS_ACCESS_KEY_ID ??= 'test';
  process.env.AWS_SECRET_ACCESS_KEY ??= 'test';
  const own = given.local ? await startLocal(given.without) : undefined;
  const endpoint = own?.url ?? given.endpoint;
  if (endpoint === undefined) throw new Error(usage);
  const run = `t${randomBytes(3).toString('hex')}`;
  console.log(`${endpoint}, as ${run}`);
  const missing = await missingAt(endpoint);
  try {
    process.exitCode = await runSuite(endpoint, run, missing);
  } finally {
    const removed = await tidy(endpoint, run, missing);
    const counts = Object.entries(removed).map(([what, count]) => `${count} ${what}`);
    console.log(`removed ${counts.join(', ')}`);
    await own?.stop();
  }
}

async function runSuite(
  endpoint: string,
  run: string,
  missing: ReadonlyMap<Service, string>,
): Promise<number> {
  for (const [service, why] of missing) console.log(`lacks ${service}: ${why}`);
  const chosen = suite.filter(({ file }) => new RegExp(given.only).test(file));
  const lacking = (needs: readonly Service[]) => needs.filter((need) => missing.has(need));
  for (const { file, needs } of chosen) {
    const lacks = lacking(needs);
    if (lacks.length > 0) console.log(`skipped ${file}: it needs ${lacks.join(', ')}`);
  }
  for (const [file, why] of Object.entries(leftOut)) console.log(`left out ${file}: ${why}`);
  const files = chosen.filter(({ needs }) => lacking(needs).length === 0).map(({ file }) => file);
  if (files.length === 0) {
    console.log('Nothing is left to run.');
    return 1;
  }
  return vitest(files, {
    [endpointVariable]: endpoint,
    [runVariable]: run,
    [lacksVariable]: [...missing.keys()].join(','),
    AWS_ENDPOINT_URL_IOT: endpoint,
    AWS_ENDPOINT_URL_IOT_DATA_PLANE: endpoint,
  });
}

function vitest(files: readonly string[], variables: Record<string, string>): Promise<number> {
  // Emulators are slow, and this run measures nothing.
  const slow = ['--testTimeout=120000', '--hookTimeout=300000'];
  const child = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', ...slow, ...files],
    {
      env: { ...process.env, ...variables },
      stdio: 'inherit',
    },
  );
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function startLocal(without: readonly string[]): Promise<Running & { url: string }> {
  const unknown = without.filter((name) => !services.includes(name as Service));
  if (unknown.length > 0)
    throw new Error(`Unknown service ${unknown.join(', ')}: must be of ${services.join(', ')}`);
  const directory = mkdtempSync(join(tmpdir(), 'aws-'));
  const iot = await startIotCore('local');
  const [dynamoDb, sqs, s3] = await Promise.all([
    startDynamoDb(),
    startQueues(),
    startS3({ host: '127.0.0.1', port: 0, directory }),
  ]);
  const all = {
    dynamodb: dynamoDb.url,
    'dynamodb-streams': dynamoDb.url,
    sqs: sqs.url,
    s3: s3.url,
    iot: iot.url,
  };
  const behind = Object.entries(all).filter(([service]) => !without.includes(service));
  const door = await startFrontDoor(Object.fromEntries(behind));
  return {
    url: door.url,
    stop: async () => {
      for (const part of [door, s3, sqs, dynamoDb, iot]) await part.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 2;
});
