// `npm run driver:new` writes a driver that compiles, is formatted, agrees with the documents and
// passes the kit.
//
// @module-tag long

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const root = join(import.meta.dirname, '../..');
const parts = [
  ...['core', 'edge-agent', 'infra', 'local', 'operate'],
  ...['test/drivers', 'test/kernel', 'test/openstack', 'test/support'],
];
const documents = ['test/house/support-matrix.test.ts', 'test/docs/agent-settings.test.ts'];
const files = [
  'package.json',
  'tsconfig.json',
  'biome.json',
  'vitest.config.ts',
  'test/cpu-budget.json',
  'docs/agent.md',
  ...documents,
  'LICENSE',
];

const copy = directoryPerFile();

beforeAll(() => {
  for (const path of [...parts, ...files]) {
    cpSync(join(root, path), join(copy, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  // The rest of the checkout is not in the copy.
  const config = JSON.parse(readFileSync(join(copy, 'tsconfig.json'), 'utf8')) as object;
  const include = ['core', 'edge-agent', 'test/drivers'];
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ ...config, include }));
  execFileSync('git', ['init', '-q'], { cwd: copy });
});

function run(script: string, ...args: string[]) {
  const environment = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  const given = { cwd: copy, encoding: 'utf8' as const, env: environment };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], given);
  return { status, output: stdout + stderr };
}

it.each([
  [[], 'Give one NAME.'],
  [['Npu'], 'a name begins with a lower case letter'],
  [['../npu'], 'a name begins with a lower case letter'],
  [['pci'], 'which a driver of the agent has.'],
  [['stage'], 'which is that of a setting of the agent.'],
  [['by_model'], 'edge-agent/drivers/by-model exists already.'],
])('refuses %j', (args, fault) => {
  const { status, output } = run('test/drivers/new-driver.ts', ...args);
  expect([status, output]).toEqual([2, expect.stringContaining(fault)]);
});

it('writes a driver of your own with its types, once', () => {
  const out = join(copy, 'own');
  const write = () => run('test/drivers/new-driver.ts', 'acme_npu', '--out', out);
  expect(write()).toMatchObject({ status: 0 });
  expect(readdirSync(out).sort()).toEqual(['acme_npu.json', 'acme_npu.mjs', 'cyborg-driver']);
  const types = JSON.parse(readFileSync(join(out, 'cyborg-driver/package.json'), 'utf8'));
  expect(readFileSync(join(out, 'cyborg-driver', types.types), 'utf8')).toContain('MakeDriver');
  expect(write()).toEqual({ status: 2, output: expect.stringContaining('exists already.') });
});

it.each(['acme_npu', 'zz9', 'a_driver_with_a_rather_long_name_of_its_own'])(
  'writes driver %s, which compiles and passes the kit',
  (name) => {
    const written = run('test/drivers/new-driver.ts', name);
    expect(written).toMatchObject({ status: 0 });
    expect(run('node_modules/typescript/bin/tsc', '--noEmit')).toEqual({ status: 0, output: '' });
    const formatted = ['check', 'edge-agent/drivers', 'test/drivers'];
    expect(run('infra/biome.ts', ...formatted)).toMatchObject({ status: 0 });
    const table = readFileSync(join(copy, 'edge-agent/drivers/README.md'), 'utf8');
    expect(table).toContain(`| ${name} | [\`${name}\`](`);
    const tests = run('node_modules/vitest/vitest.mjs', 'run', ...documents);
    expect(tests).toMatchObject({ status: 0 });
    const { status, output } = run('test/drivers/main.ts', name);
    expect([status, output.trim().split('\n').at(-1)]).toEqual([
      0,
      expect.stringMatching(/^\d+ passed, 0 failed$/),
    ]);
  },
);
