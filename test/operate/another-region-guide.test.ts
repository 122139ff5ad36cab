// The commands for AWS in docs/another-region.md, with a fake of AWS's command line that notes how
// it is called. test/local/another-region.test.ts runs the page's other blocks.

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { tables } from '#core/store/table/tables.ts';
import { tableInput } from '#local/aws/dynamodb/dynamodb.ts';
import { namedBlocks } from '#test/support/doc-examples.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const blocks = namedBlocks('another-region.md');
const copied = ['arqs', 'inventory', 'device-profiles'];
const moment = '2026-11-20T13:00:00Z';

const directory = directoryPerFile();

beforeAll(() => {
  // One line for a call, its words separated by tabs.
  const fake = `#!/bin/bash
(IFS=$'\\t'; echo "$*" >> "$CALLS")
case "$1 $2" in
  "sts get-caller-identity") echo 123456789012 ;;
  "s3api list-objects-v2") echo "\${6}0123-abc/data/x.json.gz" ;;
  "lambda list-functions") echo "prod-sweep prod-changes" ;;
esac
`;
  writeFileSync(join(directory, 'aws'), fake, { mode: 0o755 });
});

/** The calls of AWS's command line that the block makes. */
async function callsOf(name: string): Promise<string[][]> {
  const calls = join(directory, `${name.replace(':', '-')}.txt`);
  writeFileSync(calls, '');
  const script = `set -eu\n${blocks.get('settings')}\n${blocks.get(name)}`;
  const env = { PATH: `${directory}:${process.env.PATH}`, CALLS: calls, MOMENT: moment };
  await promisify(execFile)('bash', ['-c', script], { env });
  const lines = readFileSync(calls, 'utf8').trimEnd().split('\n');
  return lines.map((line) => line.split('\t'));
}

function optionOf(call: readonly string[], name: string): string {
  return call[call.indexOf(name) + 1] ?? '';
}

it.each([...blocks.keys()])('%s is a script', async (name) => {
  await promisify(execFile)('bash', ['-n', '-c', blocks.get(name) ?? '']);
});

it('copies the tables that a restore reads, all of one moment', async () => {
  const calls = (await callsOf('aws:copy')).filter(([service]) => service === 'dynamodb');
  const arns = calls.map((call) => optionOf(call, '--table-arn'));
  const prefix = 'arn:aws:dynamodb:eu-central-1:123456789012:table/prod-';
  expect(arns).toEqual(copied.map((table) => `${prefix}${table}`));
  const times = calls.map((call) => optionOf(call, '--export-time'));
  expect(new Set(times).size).toBe(1);
  const ageMs = Date.now() - Date.parse(times[0] ?? '');
  expect(ageMs).toBeGreaterThan(9 * 60_000);
  expect(ageMs).toBeLessThan(12 * 60_000);
});

it('imports a copy into tables with the keys of the tables of the stack', async () => {
  const calls = await callsOf('aws:import');
  const imports = calls.filter(([, action]) => action === 'import-table');
  expect(imports).toHaveLength(copied.length);
  for (const [index, call] of imports.entries()) {
    const table = tables.find(({ name }) => name === copied[index]);
    if (!table) throw new Error(`Unknown table ${copied[index]}.`);
    const { KeySchema } = tableInput('prod', table);
    const made = JSON.parse(optionOf(call, '--table-creation-parameters'));
    expect(made).toMatchObject({ TableName: `prod-${table.name}-copy`, KeySchema });
    const keys = made.KeySchema.map((each: { AttributeName: string }) => each.AttributeName);
    const typed = made.AttributeDefinitions.map(
      (each: { AttributeName: string }) => each.AttributeName,
    );
    expect(typed).toEqual(keys);
    const source = `S3KeyPrefix=prod/${moment}/${table.name}/AWSDynamoDB/0123-abc/data/`;
    expect(optionOf(call, '--s3-bucket-source')).toBe(`S3Bucket=example-cyborg-copies,${source}`);
  }
});

it('stops and starts every function of the stage', async () => {
  const names = async (block: string) =>
    (await callsOf(block)).slice(1).map((call) => [call[1], optionOf(call, '--function-name')]);
  expect(await names('aws:stop')).toEqual([
    ['put-function-concurrency', 'prod-sweep'],
    ['put-function-concurrency', 'prod-changes'],
  ]);
  expect(await names('aws:start')).toEqual([
    ['delete-function-concurrency', 'prod-sweep'],
    ['delete-function-concurrency', 'prod-changes'],
  ]);
});
