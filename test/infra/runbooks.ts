// The runbooks of docs/operations/, as one text.

import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../docs/operations/', import.meta.url);

export const runbooks = readdirSync(folder)
  .sort()
  .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  // The last entry of a page ends before the next heading.
  .join('\n## \n');
