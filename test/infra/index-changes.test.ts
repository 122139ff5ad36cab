// DynamoDB creates or deletes one index of a table in an update, and CloudFormation makes one
// update of it in a deployment: a release that changes two fails, and is rolled back.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { tables } from '#core/store/table/tables.ts';

interface Released {
  readonly release: string;
  readonly indexes: Readonly<Record<string, readonly string[]>>;
}

/** Indexes of the last release; each release writes its own. */
const released: Released = JSON.parse(
  readFileSync(new URL('released-indexes.json', import.meta.url), 'utf8'),
);

it.each(tables)(
  '$name has at most one index that the last release has not, or has otherwise',
  (table) => {
    const before = released.indexes[table.name];
    // A table that the release did not have is created with all of its indexes.
    if (before === undefined) return;
    const now: string[] = table.indexes.map((index) => JSON.stringify(index));
    const added = now.filter((index) => !before.includes(index));
    const removed = before.filter((index) => !now.includes(index));
    expect([...added, ...removed].length).toBeLessThanOrEqual(1);
  },
);

it('the last release is in the changelog', () => {
  const changelog = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
  expect(changelog).toContain(`## [${released.release}] - `);
});
