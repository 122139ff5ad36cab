// Every link of a document leads to a file and a heading that are there.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { anchorsOf, findDeadLinks } from './links.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const isThere = (path: string) => existsSync(`${root}${path}`);

const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'];
const files = execFileSync('git', listed, { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && isThere(file));
const documents = new Map(files.map((file) => [file, readFileSync(`${root}${file}`, 'utf8')]));

it('the documents have no dead link', () => {
  expect(files.length).toBeGreaterThan(80);
  expect(findDeadLinks(documents, isThere)).toEqual([]);
});

it('a dead link is one to a file or a heading that is not there', () => {
  const page = ['# A page', '[1](b.md) [2](#a-page) [3](../core/) [4](https://example.org)'];
  const dead = ['[5](c.md) [6](#no) [7](b.md#no) [8](../core/x.ts)', '`[code](no.md)`'];
  const pages = new Map([
    ['docs/a.md', [...page, ...dead, '```', '[code](no.md)', '```'].join('\n')],
    ['docs/b.md', '# B'],
  ]);
  expect(findDeadLinks(pages, (path) => path === 'core/')).toEqual([
    'docs/a.md: c.md',
    'docs/a.md: #no',
    'docs/a.md: b.md#no',
    'docs/a.md: ../core/x.ts',
  ]);
});

it('headings have the names of GitHub', () => {
  const text =
    '# `binds-fail`: what, why?\n```\n# no heading\n```\n## A b_c\n## A b_c\n## [A](b.md) d';
  expect(anchorsOf(text)).toEqual(['binds-fail-what-why', 'a-b_c', 'a-b_c-1', 'a-d']);
});

it('docs/README.md leads to each page of docs/', () => {
  const index = documents.get('docs/README.md') ?? '';
  const pages = files.filter((file) => /^docs\/[^/]+\.md$/.test(file)).map((file) => file.slice(5));
  const unlisted = pages.filter((page) => page !== 'README.md' && !index.includes(`](${page})`));
  expect(unlisted).toEqual([]);
});
