// All own drivers keep the contract. To check one: npm run driver:check -- NAME

import { describe, expect, it } from 'vitest';
import { ownDrivers } from '#agent/drivers/index.ts';
import { runCheck } from './check.ts';
import { ownFixtures } from './fixtures.ts';
import { checksOf } from './kit.ts';

const fixtures = await ownFixtures();

it('every own driver has a fixture', () => {
  const checked = new Set(fixtures.map(({ fixture }) => fixture.module.name));
  expect([...checked].sort()).toEqual(ownDrivers.map(({ name }) => name).sort());
});

describe.each(fixtures)('driver $title', async ({ fixture }) => {
  it.each(await checksOf(fixture))('$title', (check) => runCheck(fixture, check));
});
