// All own drivers keep the contract. To check one: npm run driver:check -- NAME

import { describe, expect, it } from 'vitest';
import { ownDrivers } from '#agent/drivers/index.ts';
import { sampleOf } from '#test/support/vitest/sample.ts';
import { ownFixtures } from './fixtures.ts';
import { type Check, runCheck } from './kit/check.ts';
import { checksOf } from './kit/kit.ts';

const fixtures = await ownFixtures();

it('every own driver has a fixture', () => {
  const checked = new Set(fixtures.map(({ fixture }) => fixture.module.name));
  expect([...checked].sort()).toEqual(ownDrivers.map(({ name }) => name).sort());
});

/** Once for each file, or for each write of the driver. */
const isExhaustive = ({ title }: Check) =>
  /^discover with a fault in|killed at any write/.test(title);

describe.each(fixtures)('driver $title', async ({ fixture }) => {
  const checks = await checksOf(fixture);
  const { sample, rest } = sampleOf(checks.filter(isExhaustive), 4);
  const others = sampleOf(rest, 12);
  const run = (check: Check) => runCheck(fixture, check);

  it.each(checks.filter((check) => !isExhaustive(check) && !check.isLong))('$title', run);

  it.each(sample)('a sample of four: $title', run);

  it.each([...others.sample, ...checks.filter(({ isLong }) => isLong)])(
    '$title',
    { tags: ['long'] },
    run,
  );

  it.each(others.rest)('$title', { tags: ['long', 'whole'] }, run);
});
