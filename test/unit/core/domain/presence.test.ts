import { describe, expect, it } from 'vitest';
import { heartbeatSeconds } from '#core/contracts/report/inventory-report.ts';
import type { Presence } from '#core/domain/host/host.ts';
import { isLost, supersedes } from '#core/domain/host/presence.ts';

const event = (isConnected: boolean, version: number, second = 0): Presence => ({
  isConnected,
  version,
  at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
});

describe('presence of an agent', () => {
  it.each<[string, Presence, Presence | undefined, boolean]>([
    ['the first event is stored', event(true, 0), undefined, true],
    ['a newer connection is stored', event(true, 2), event(true, 1), true],
    ['the end of the connection is stored', event(false, 1), event(true, 1), true],
    ['its late begin is ignored', event(true, 1), event(false, 1), false],
    ['the late end of the one before is ignored', event(false, 1, 9), event(true, 2), false],
    ['a duplicate is ignored', event(true, 1), event(true, 1), false],
    [
      'versions that restart after a long absence are stored',
      event(true, 0, 7200),
      event(false, 9),
      true,
    ],
    [
      'a restart with the same version as the last is stored',
      event(true, 0, 7200),
      event(false, 0),
      true,
    ],
    ['a restart without an end before it is stored', event(true, 0, 7200), event(true, 9), true],
    ['the end of such a connection is stored, too', event(false, 0, 7200), event(true, 9), true],
    [
      'a late event from before the restart is ignored',
      event(false, 9),
      event(true, 0, 7200),
      false,
    ],
    ['a restart after a short absence is ignored', event(true, 0, 60), event(false, 9), false],
  ])('%s', (_case, given, known, isNews) => {
    expect(supersedes(given, known)).toBe(isNews);
  });
});

describe('an agent', () => {
  const now = Date.UTC(2026, 0, 1);
  const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
  const gone = (seconds: number): Presence => ({ isConnected: false, at: ago(seconds) });
  const there = (seconds: number): Presence => ({ isConnected: true, at: ago(seconds) });
  const silence = 3 * heartbeatSeconds;

  it.each<[string, Parameters<typeof isLost>[0], boolean]>([
    [
      'that is connected and reports is there',
      { presence: there(9999), lastReportAt: ago(300) },
      false,
    ],
    ['that has just connected is there', { presence: there(30), lastReportAt: ago(9999) }, false],
    [
      'whose end was lost is there for three heartbeats',
      { presence: there(9999), lastReportAt: ago(silence) },
      false,
    ],
    [
      'whose end was lost is gone after them',
      { presence: there(9999), lastReportAt: ago(silence + 1) },
      true,
    ],
    ['that has just disconnected may come back', { presence: gone(59) }, false],
    ['that disconnected long ago is lost', { presence: gone(61) }, true],
    ['that has reported since is there', { presence: gone(61), lastReportAt: ago(30) }, false],
    [
      'whose new connection was not told is there',
      { presence: gone(9999), lastReportAt: ago(silence) },
      false,
    ],
    [
      'whose new connection was not told may be gone',
      { presence: gone(9999), lastReportAt: ago(silence + 1) },
      true,
    ],
    ['whose last report took long is lost', { presence: gone(71), lastReportAt: ago(61) }, true],
    ['without a presence event is there', { lastReportAt: ago(heartbeatSeconds) }, false],
    ['without a report for long is lost', { lastReportAt: ago(silence + 1) }, true],
    ['without any event or report is lost', {}, true],
  ])('%s', (_case, host, lost) => {
    expect(isLost(host, now)).toBe(lost);
  });
});
