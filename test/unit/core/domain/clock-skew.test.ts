import { expect, it } from 'vitest';
import { settledSeconds } from '#core/domain/host/clock-skew.ts';

it.each<[string, number, number, number | undefined, number]>([
  ['a clock that is far ahead', 120_000, 40, undefined, 120],
  ['a clock that is behind', -9400, 40, undefined, -9],
  ['no difference beyond what the measurement may be wrong by', 1800, 900, undefined, 0],
  ['the stored difference, while it is no other', 120_700, 40, 120, 120],
  ['a difference that has changed', 122_000, 40, 120, 122],
])('shows %s', (_case, aheadMs, withinMs, stored, seconds) => {
  expect(settledSeconds({ aheadMs, withinMs }, stored)).toBe(seconds);
});
