import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { derivedUuid, providerUuid, timeOrderedUuid } from '#core/domain/ids.ts';
import { isUuid } from '#core/domain/uuid-form.ts';

describe('uuids', () => {
  it('names a provider as Cyborg does', () => {
    expect(providerUuid('host1_FakeDevice')).toBe('efbfb633-384e-35e2-8ea0-b70c69aea9de');
  });

  it('derives the same uuid from the same names only', () => {
    expect(derivedUuid('device', 'cmp1', 'a')).toBe(derivedUuid('device', 'cmp1', 'a'));
    expect(derivedUuid('device', 'cmp1', 'a')).not.toBe(derivedUuid('device', 'cmp1a', ''));
  });

  it('orders ARQs by their creation', () => {
    const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 });
    const instant = fc.nat({ max: 2 ** 40 });
    fc.assert(
      fc.property(instant, fc.integer({ min: 1, max: 1e6 }), bytes, bytes, (at, later, a, b) => {
        const [first, second] = [timeOrderedUuid(at, a), timeOrderedUuid(at + later, b)];
        expect(isUuid(first) && isUuid(second)).toBe(true);
        expect(first < second).toBe(true);
      }),
    );
  });
});
