// `npm run test:changed`: what a change since main is most likely to break, within a minute on two
// idle cores. The tests that import a file of core/ are nearly all tests, so this does not follow
// imports: it runs the unit and house tests, one boot, tests that changed, and tests with the name
// of a file that changed.

import { execFileSync, spawnSync } from 'node:child_process';
import { basename } from 'node:path';

const always = ['test/unit', 'test/house', 'test/integration/boot-flow.test.ts'];

function linesOf(...command: string[]): string[] {
  return execFileSync('git', command, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

const nameOf = (file: string) => basename(file).split('.')[0] ?? '';

const [since = 'main'] = process.argv.slice(2);
const changed = [
  ...linesOf('diff', '--name-only', '--diff-filter=d', since),
  ...linesOf('ls-files', '--others', '--exclude-standard'),
];
const names = new Set(changed.map(nameOf));
const named = linesOf('ls-files', 'test/**/*.test.ts').filter((file) => names.has(nameOf(file)));
const wanted = [...new Set([...always, ...named, ...changed.filter((file) => isTest(file))])];

function isTest(file: string): boolean {
  return file.endsWith('.test.ts');
}

const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--tags-filter=!long', ...wanted];
process.exitCode = spawnSync(process.execPath, vitest, { stdio: 'inherit' }).status ?? 1;
