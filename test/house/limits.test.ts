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

/** The sizes above a limit. What has changed and comes near to it is printed. */
function above(sizes: Sizes, max: (name: string) => number): Sizes {
  const near = Object.entries(sizes).filter(
    ([name, size]) => size >= (max(name) * 5) / 6 - 1 && size <= max(name) && isChanged(name),
  );
  for (const [name, size] of near) {
    process.stderr.write(`${name}: ${size} of at most ${max(name)}; split it before it is full\n`);
  }
  return Object.fromEntries(Object.entries(sizes).filter(([name, size]) => size > max(name)));
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
    expect(above(sizes, max)).toEqual(exceptions.lines);
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
    expect(above(sizes, () => 15)).toEqual(exceptions.files);
  });

  it('no exception is new', () => {
    const { lines, files: folders, functions } = exceptions;
    const count = [lines, folders, functions].flatMap(Object.keys).length;
    expect(count).toBeLessThanOrEqual(exceptionsMax);
  });

  it('a function has at most 70 lines', () => {
    const sizes = Map.groupBy(longFunctions(), ({ file }) => file);
    const found = [...sizes].map(([file, own]) => [file, own.map(({ lines }) => lines).sort()]);
    expect(Object.fromEntries(found)).toEqual(exceptions.functions);
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
    .filter(({ file }) => !file.endsWith('.test.ts'));
}
