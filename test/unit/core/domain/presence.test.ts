import { describe, expect, it } from 'vitest';
import type { Presence } from '#core/domain/device.ts';
import { isLost, supersedes } from '#core/domain/presence.ts';

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
    ['also with the number that the last one had', event(true, 0, 7200), event(false, 0), true],
    ['also where nobody was told of the end', event(true, 0, 7200), event(true, 9), true],
    ['of which the end is news, too', event(false, 0, 7200), event(true, 9), true],
    ['what was before that, late, is not', event(false, 9), event(true, 0, 7200), false],
    ['but not after a short one', event(true, 0, 60), event(false, 9), false],
  ])('%s', (_case, given, known, isNews) => {
    expect(supersedes(given, known)).toBe(isNews);
  });
});

describe('an agent', () => {
  const now = Date.UTC(2026, 0, 1);
  const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
  const gone = (seconds: number): Presence => ({ isConnected: false, at: ago(seconds) });

  it.each<[string, Parameters<typeof isLost>[0], boolean]>([
    ['that is connected is there', { presence: { isConnected: true, at: ago(9999) } }, false],
    ['that has just gone may come back', { presence: gone(59) }, false],
    ['that has been gone for long is lost', { presence: gone(61) }, true],
    ['that has reported since is there', { presence: gone(61), lastReportAt: ago(30) }, false],
    ['whose connection nobody noted is there', { lastReportAt: ago(300) }, false],
    ['that has said nothing for long is lost', { lastReportAt: ago(601) }, true],
    ['that was never heard of is lost', {}, true],
  ])('%s', (_case, host, lost) => {
    expect(isLost(host, now)).toBe(lost);
  });
});
