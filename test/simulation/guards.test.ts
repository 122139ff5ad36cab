// Each guard of the product is needed: without it, one scenario goes wrong that is well with it. What needs
// it was found by `npm run test:simulation -- --guards`; here those scenarios are lived again, and where the
// product takes other steps by now, those like them.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { otherGuards } from '#simulation/guards.ts';
import { conditionsOfOperations, tryWithout } from '#simulation/mutants.ts';
import { scenarioOf, withSimilar } from '#simulation/scenarios.ts';

const guards = JSON.parse(
  readFileSync(new URL('../../simulation/guards.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, string>>;

// Seconds where nothing else runs; a busy machine has its time.
const patience = 600_000;

describe('without a guard something goes wrong', () => {
  it.each(Object.entries(guards))(
    '%s: %s',
    async (guard, scenario) => {
      const scenarios = await withSimilar(scenarioOf(scenario));
      expect((await tryWithout(guard, scenarios)).failure).toBeDefined();
    },
    patience,
  );
});

it(
  'there is no other guard, and no write carries a condition that is not among them',
  async () => {
    const found = [...otherGuards, ...(await conditionsOfOperations())];
    expect(found.filter((guard) => guards[guard] === undefined).sort()).toEqual([]);
  },
  patience,
);
