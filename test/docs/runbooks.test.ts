// The sections that incidents name are in docs/operations.md.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runbooks } from '#core/domain/history/runbooks.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');
const sections = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
  heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 _-]/g, '')
    .replaceAll(' ', '-'),
);

it.each(Object.entries(runbooks))('%s: %s', (_kind, section) => {
  expect(sections).toContain(section);
});
