// `npm run test:aws` itself, with the local engines behind one endpoint.
//
// @module-tag long

import { expect, it } from 'vitest';
import { run } from '#test/agent/agent-process.ts';

const environment = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };

function testAws(...options: string[]) {
  return run('test/aws/main.ts', environment, options);
}

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
