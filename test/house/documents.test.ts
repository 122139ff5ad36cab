// Documents name tests, and comments name files, that are there.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const textOf = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** Each with the fewest tests that it names. */
const documents = [
  ['test/upstream-failures.md', 40],
  ['docs/security.md', 10],
  ['docs/guarantees.md', 8],
] as const;

/** `test/….test.ts`: "title" */
const titled = /`(test\/[^`]+\.test\.ts)`: "([^"]+)"/g;

describe.each(documents)('%s', (path, least) => {
  const document = textOf(path);
  const named = [...document.matchAll(titled)].map(([, file = '', title = '']) => ({
    file,
    title,
  }));

  it('names tests', () => expect(named.length).toBeGreaterThanOrEqual(least));

  it('names files that are there', () => {
    const files = [...document.matchAll(/`(test\/[^`]+\.test\.ts)`/g)].map(
      ([, file]) => file ?? '',
    );
    expect(files.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
  });

  it('names titles that their files have', () => {
    const missing = named.filter(({ file, title }) => {
      // A title with an apostrophe stands in double quotes.
      const quote = title.includes("'") ? '"' : "'";
      return !textOf(file).includes(`${quote}${title}${quote}`);
    });
    expect(missing).toEqual([]);
  });
});

describe('comments and documents', () => {
  const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(new URL(file, root)));
  /** Each file by its path, and by each end of it that a reader can follow. */
  const paths = new Set(
    files.flatMap((file) => file.split('/').map((_, at, parts) => parts.slice(at).join('/'))),
  );
  const pointer = /(?<![\w./@*-])[\w@-]+(?:[/.][\w@-]+)*\.tsx?\b/g;
  /** A path of an example, which its reader makes. */
  const examples = /acme-npu/;

  it('point to files that are there', () => {
    const missing = files
      .filter((file) => /\.(tsx?|md)$/.test(file))
      .flatMap((file) =>
        textOf(file)
          .split('\n')
          .filter((line) => file.endsWith('.md') || /^\s*(\/\/|\/?\*)/.test(line))
          .flatMap((line) => line.match(pointer) ?? [])
          .filter((path) => !paths.has(path) && !examples.test(path))
          .map((path) => `${file}: ${path}`),
      );
    expect(missing).toEqual([]);
  });
});
