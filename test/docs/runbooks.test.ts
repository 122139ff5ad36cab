// The sections that incidents name are in docs/operations.md.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runbooks } from '#core/domain/history/runbooks.ts';
import { anchorsOf } from './links.ts';

const sections = anchorsOf(
  readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8'),
);

it.each(Object.entries(runbooks))('%s: %s', (_kind, section) => {
  expect(sections).toContain(section);
});
