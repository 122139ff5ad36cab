import { describe, expect, it } from 'vitest';
import type { Presence } from '#core/domain/device.ts';
import { supersedes } from '#core/domain/presence.ts';

const event = (isConnected: boolean, version: number, second = 0): Presence => ({
  isConnected,
  version,
  at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
});

describe('presence of an agent', () => {
  it.each<[string, Presence, Presence | undefined, boolean]>([
    ['the first event is news', event(true, 0), undefined, true],
    ['a newer connection is news', event(true, 2), event(true, 1), true],
    ['the end of the connection is news', event(false, 1), event(true, 1), true],
    ['its begin, late, is not', event(true, 1), event(false, 1), false],
    ['the end of the one before, late, is not', event(false, 1, 9), event(true, 2), false],
    ['a duplicate is not', event(true, 1), event(true, 1), false],
    ['versions begin anew after a long absence', event(true, 0, 7200), event(false, 9), true],
    ['but not after a short one', event(true, 0, 60), event(false, 9), false],
  ])('%s', (_case, given, known, isNews) => {
    expect(supersedes(given, known)).toBe(isNews);
  });
});
