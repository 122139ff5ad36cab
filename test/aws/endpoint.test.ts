// `npm run test:aws` itself, with the local engines behind one endpoint.
//
// @module-tag long

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run } from '#test/agent/agent-process.ts';
import { leftOut, suite } from './suite.ts';

const environment = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };

function testAws(...options: string[]) {
  return run('test/aws/main.ts', environment, options);
}

it('knows every flow: it runs, or is left out for a reason', () => {
  const folder = join(import.meta.dirname, '../integration');
  const files = readdirSync(folder).map((file) => `test/integration/${file}`);
  const known = [...suite.map(({ file }) => file), ...Object.keys(leftOut)];
  expect(files.filter((file) => !known.includes(file))).toEqual([]);
});

it('knows which flows follow the streams', () => {
  const follows = ({ file }: { file: string }) =>
    /consumers: (true|'streams')|startConsumers/.test(
      readFileSync(join(import.meta.dirname, '../..', file), 'utf8'),
    );
  expect(suite.filter(follows)).toEqual(
    suite.filter(({ needs }) => needs.includes('dynamodb-streams')),
  );
});

it('runs the flows whose services the endpoint has, skips the rest by name, and leaves nothing', async () => {
  const options = ['--without', 's3', '--without', 'iot', '--only', 'reaper|programming|jobs'];
  const suiteRun = testAws('--local', ...options);
  expect(await suiteRun.exited()).toBe(0);
  const output = suiteRun.output();
  expect(output).toContain('skipped test/integration/programming.test.ts: it needs s3');
  expect(output).toContain('skipped test/aws/jobs.test.ts: it needs iot');
  expect(output).toMatch(/[1-9]\d* passed, 0 failed/);
  expect(output).toContain('removed 5 tables, 16 queues, 0 buckets');
});

it('names what is missing when no flow can run', async () => {
  const suiteRun = testAws('--endpoint', 'http://127.0.0.1:1');
  expect(await suiteRun.exited()).toBe(1);
  expect(suiteRun.output()).toMatch(/lacks dynamodb: .*ECONNREFUSED/);
  expect(suiteRun.output()).toContain('Nothing is left to run.');
});
