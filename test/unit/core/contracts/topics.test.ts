import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isHostname, readHostname, thingName } from '#core/contracts/topics.ts';

describe('names of hosts', () => {
  it.each(['cmp1', 'cmp1.example.org', 'a', 'A-1.b'])('may be %s', (name) => {
    expect(isHostname(name)).toBe(true);
    expect(readHostname(thingName('dev', name))).toBe(name);
  });

  // An underscore ends the host's part of a provider's name, so that no host can name another's.
  it.each(['', '.', '-a', 'a-', 'a_b', 'a/b', 'a:b', '../a', 'a b', 'x'.repeat(108)])(
    'may not be %j',
    (name) => {
      expect(isHostname(name)).toBe(false);
    },
  );

  it('are things by exactly one name', () => {
    const name = fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,20}[a-z0-9]$/);
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(thingName('dev', a) === thingName('dev', b)).toBe(a === b);
        expect(thingName('dev', a)).not.toBe(thingName('dev-2', b));
      }),
    );
  });
});
