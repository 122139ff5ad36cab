// `npm run test:aws -- --endpoint URL`: the integration suite against another implementation of
// AWS. What it makes there is named by the run and removed at the end; files that need a missing
// service are skipped by name. `--engine` installs an emulator and starts it for the run.
// `--local` puts the local engines behind one endpoint, which tests this program.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { endpointVariable, lacksVariable, runVariable } from '#test/support/aws/engines.ts';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { type AwsEngine, engines, startLocal } from './aws-engines.ts';
import { missingAt } from './probe.ts';
import { leftOut, type Service, suite } from './suite.ts';
import { tidy } from './tidy.ts';

const usage = `npm run test:aws -- --endpoint <URL> [--only <pattern>]
npm run test:aws -- --engine ${Object.keys(engines).join('|')} [--only <pattern>]
npm run test:aws -- --local [--without <service>] [--only <pattern>]

Region and credentials are those of AWS's own environment; an emulator takes any.`;

const { values: given } = parseArgs({
  options: {
    endpoint: { type: 'string' },
    engine: { type: 'string' },
    local: { type: 'boolean', default: false },
    without: { type: 'string', multiple: true, default: [] },
    only: { type: 'string', default: '' },
  },
});

const closing: (() => Promise<void>)[] = [];

async function main(): Promise<void> {
  process.env.AWS_REGION ??= 'us-east-1';
  process.env.AWS_ACCESS_KEY_ID ??= 'test';
  process.env.AWS_SECRET_ACCESS_KEY ??= 'test';
  const own = await startOwn();
  const endpoint = own?.url ?? given.endpoint;
  if (endpoint === undefined) throw new Error(usage);
  if (own) closing.push(own.stop);
  const run = `t${randomBytes(3).toString('hex')}`;
  console.log(`${own?.name ?? endpoint}, as ${run}`);
  const missing = await missingAt(endpoint);
  try {
    process.exitCode = await runSuite(endpoint, run, missing);
  } finally {
    const removed = await tidy(endpoint, run, missing);
    const counts = Object.entries(removed).map(([what, count]) => `${count} ${what}`);
    console.log(`removed ${counts.join(', ')}`);
    await end();
  }
}

/** @throws CannotRun */
async function startOwn(): Promise<AwsEngine | undefined> {
  if (given.local) return startLocal(given.without);
  if (given.engine === undefined) return undefined;
  const start = engines[given.engine];
  if (!start) throw new Error(`Unknown engine ${given.engine}.\n${usage}`);
  return start();
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
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...files], {
    env: { ...process.env, ...variables },
    stdio: 'inherit',
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function end(): Promise<void> {
  for (const close of closing.splice(0)) await close();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void end().finally(() => process.exit(1)));
}

main().catch((error: Error) => {
  if (error instanceof CannotRun) {
    console.log(`SKIPPED: test:aws --engine ${given.engine} cannot run here: ${error.message}.`);
    return;
  }
  console.error(error.message);
  process.exitCode = 2;
});
