// Documents that name tests name tests that are there.

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const textOf = (path: string) => readFileSync(new URL(path, root), 'utf8');

const document = textOf('docs/upstream-failures.md');
/** `test/….test.ts`: "title" */
const named = [...document.matchAll(/`(test\/[^`]+\.test\.ts)`: "([^"]+)"/g)].map(
  ([, file = '', title = '']) => ({ file, title }),
);

describe('docs/upstream-failures.md', () => {
  it('names many', () => expect(named.length).toBeGreaterThan(40));

  it.each(named)('$file: $title', ({ file, title }) => {
    expect(existsSync(new URL(file, root))).toBe(true);
    // A title with an apostrophe stands in double quotes.
    const quote = title.includes("'") ? '"' : "'";
    expect(textOf(file)).toContain(`${quote}${title}${quote}`);
  });
});
