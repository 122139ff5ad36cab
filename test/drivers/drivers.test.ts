// All own drivers keep the contract. To check one: npm run driver:check -- NAME

import { describe, it } from 'vitest';
import { sampleOf } from '#test/support/vitest/sample.ts';
import { ownFixtures } from './fixtures.ts';
import { type Check, runCheck } from './kit/check.ts';
import { checksOf } from './kit/kit.ts';

const fixtures = await ownFixtures();

/** Once for each file that the driver reads, or for each of its writes. */
const isExhaustive = ({ title }: Check) =>
  /^discover with a fault in|killed at any write/.test(title);

const rows = (
  await Promise.all(
    fixtures.map(async ({ title, fixture }) =>
      (await checksOf(fixture)).map((check) => ({ driver: title, fixture, check, ...check })),
    ),
  )
).flat();
type Row = (typeof rows)[number];

const run = ({ fixture, check }: Row) => runCheck(fixture, check);
const isGuard = ({ title }: Check) => title.startsWith('discover does not offer a function');
const faults = rows.filter(isExhaustive);
const byDriver = Map.groupBy(faults, ({ driver }) => driver);
const firstFaults = [...byDriver.values()].flatMap((own) => sampleOf(own, 2).sample);
const moreFaults = sampleOf(
  faults.filter((row) => !firstFaults.includes(row)),
  72,
);
const guards = sampleOf(rows.filter(isGuard), 48);

describe('of each driver', () => {
  const each = rows.filter((row) => !isExhaustive(row) && !isGuard(row));

  it.each(each.filter(({ isLong }) => !isLong))('$driver: $title', run);

  it.each(each.filter(({ isLong }) => isLong))('$driver: $title', { tags: ['long'] }, run);
});

describe('of all drivers', () => {
  it.each([...firstFaults, ...guards.sample])('$driver: $title (a sample)', run);

  it.each([...moreFaults.sample, ...guards.rest])('$driver: $title', { tags: ['long'] }, run);

  it.each(moreFaults.rest)('$driver: $title', { tags: ['long', 'whole'] }, run);
});
