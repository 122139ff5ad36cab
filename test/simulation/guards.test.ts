// Each guard of the product is needed: without it, one life goes wrong that is well with it. What needs
// it was found by `npm run test:simulation -- --guards`; here those lives are lived again.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { otherGuards, recordConditions } from './guards.ts';
import { tryWithout } from './guards-and-lives.ts';
import { everyStep, lifeOf, liveOnce } from './lives.ts';
import { operations } from './operations.ts';

const guards = JSON.parse(
  readFileSync(new URL('guards.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, string>>;

// Seconds where nothing else runs; a busy machine has its time.
const patience = 180_000;

describe('without a guard something goes wrong', () => {
  it.each(Object.entries(guards))('%s: %s', async (guard, life) => {
    expect((await tryWithout(guard, [lifeOf(life)])).failure).toBeDefined();
  });
});

it(
  'there is no other guard, and no write carries a condition that is not among them',
  async () => {
    const found = new Set<string>(otherGuards);
    for (const operation of Object.keys(operations)) {
      const [life] = await everyStep(operation);
      if (life) await liveOnce(life, { strip: recordConditions(found, new Set()) });
    }
    expect([...found].filter((guard) => !(guard in guards)).sort()).toEqual([]);
  },
  patience,
);
