// How long a file and a function may be, and how many files a folder may have. What exceeds a
// limit stands in limits.json with its size, which may only fall.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import exceptions from './limits.json' with { type: 'json' };

const root = join(import.meta.dirname, '../..');

/** Lower it with each exception that ends. */
const exceptionsMax = 61;

type Sizes = Readonly<Record<string, number>>;

const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)));

const patterns = ['*.ts', '*.tsx', '*.css'];
const files = git('ls-files', '--cached', '--others', '--exclude-standard', ...patterns);
const changed = new Set(git('diff', '--name-only', 'HEAD', '--', ...patterns));

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const isTest = (file: string) => /^(test|simulation)\//.test(file);

/** A table is read entry by entry, however long it is. */
const isTable = (file: string) => !/=>|\bfunction\b|\bclass\b/.test(textOf(file));

/** What exceeds a limit or its exception, and what has become smaller than its exception. */
function faults(sizes: Sizes, excepted: Sizes, max: (name: string) => number): readonly string[] {
  const all = Object.entries(sizes).sort();
  const near = all.filter(([name, size]) => size >= max(name) * 0.8 && isChanged(name));
  for (const [name, size] of near) {
    process.stderr.write(`${name}: ${size} of at most ${max(name)}; split it before it is full\n`);
  }
  const large = all.filter(([name, size]) => size > Math.max(max(name), excepted[name] ?? 0));
  const smaller = Object.keys(excepted).filter(
    (name) => (sizes[name] ?? 0) < (excepted[name] ?? 0),
  );
  return [
    ...large.map(([name, size]) => `${name}: ${size} of at most ${excepted[name] ?? max(name)}`),
    ...smaller.map((name) => `${name}: lower its exception to ${sizes[name] ?? 'none'}`),
  ];
}

const isChanged = (name: string) =>
  changed.has(name) || [...changed].some((file) => dirname(file) === name);

describe('without an exception in limits.json, whose sizes only fall,', () => {
  it('a file has at most 300 lines, of a test 400', () => {
    const sizes = Object.fromEntries(
      files
        .filter((file) => !isTable(file))
        .map((file) => [file, textOf(file).split('\n').length - 1]),
    );
    const max = (file: string) => (isTest(file) ? 400 : 300);
    expect(faults(sizes, exceptions.lines, max)).toEqual([]);
  });

  it('a folder has at most 15 files besides tests', () => {
    // There are as many tests as the product has parts.
    const own = files.filter((file) => !file.endsWith('.test.ts') && !file.endsWith('.css'));
    const sizes = Object.fromEntries(
      [...Map.groupBy(own, (file) => dirname(file))].map(([folder, { length }]) => [
        folder,
        length,
      ]),
    );
    expect(faults(sizes, exceptions.files, () => 15)).toEqual([]);
  });

  it('no exception is new', () => {
    const { lines, files: folders, functions } = exceptions;
    const count = [lines, folders, functions].flatMap(Object.keys).length;
    expect(count).toBeLessThanOrEqual(exceptionsMax);
  });

  it('a function has at most 70 lines', () => {
    const sizes: Record<string, number> = {};
    for (const { file, lines } of longFunctions()) sizes[file] = (sizes[file] ?? 0) + lines;
    // Several of one file count together.
    expect(faults(sizes, exceptions.functions, () => 70)).toEqual([]);
  });
});

interface LongFunction {
  readonly file: string;
  readonly lines: number;
}

/** Found by Biome, with the limit of biome.json. A test's `describe` is no function to be read. */
function longFunctions(): readonly LongFunction[] {
  const rule = '--only=complexity/noExcessiveLinesPerFunction';
  const args = ['infra/biome.ts', 'lint', rule, '--reporter=json', '--max-diagnostics=none', '.'];
  const { stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { message: string; location: { path: string } }[];
  };
  return diagnostics
    .map(({ message, location }) => ({
      file: location.path,
      lines: Number(/\((\d+)\)/.exec(message)?.[1]),
    }))
    .map((each) => {
      expect(each.lines, 'the message of Biome has the lines').toBeGreaterThan(0);
      return each;
    })
    .filter(({ file }) => !file.endsWith('.test.ts'));
}
