// Documents that name tests name tests that are there.

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
