import { describe, expect, it } from 'vitest';
import { heartbeatSeconds } from '#core/contracts/report/inventory-report.ts';
import type { Presence } from '#core/domain/host/host.ts';
import { isLost, mayHaveRebooted, supersedes } from '#core/domain/host/presence.ts';
import { present } from '#core/shapes/derive/present.ts';

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
    ['a restart after a long absence is stored', event(true, 0, 7200), event(false, 9), true],
    ['a restart with the last version is stored', event(true, 0, 7200), event(false, 0), true],
    ['a restart without an end before it is stored', event(true, 0, 7200), event(true, 9), true],
    ['the end of such a connection is stored, too', event(false, 0, 7200), event(true, 9), true],
    ['an event from before the restart is ignored', event(false, 9), event(true, 0, 7200), false],
    ['a restart after a short absence is ignored', event(true, 0, 60), event(false, 9), false],
  ])('%s', (_case, received, stored, isNews) => {
    expect(supersedes(received, stored)).toBe(isNews);
  });
});

describe('an agent', () => {
  const now = Date.UTC(2026, 0, 1);
  const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
  const gone = (seconds: number): Presence => ({ isConnected: false, at: ago(seconds) });
  const there = (seconds: number): Presence => ({ isConnected: true, at: ago(seconds) });
  const silence = 3 * heartbeatSeconds;

  it.each<[string, boolean, Presence | undefined, reportedAgo?: number]>([
    ['that is connected and reports is there', false, there(9999), 300],
    ['that has just connected is there', false, there(30), 9999],
    ['whose end was lost is there for three heartbeats', false, there(9999), silence],
    ['whose end was lost is gone after them', true, there(9999), silence + 1],
    ['that has just disconnected may come back', false, gone(59)],
    ['that disconnected long ago is lost', true, gone(61)],
    ['that has reported since is there', false, gone(61), 30],
    ['whose new connection was not reported is there', false, gone(9999), silence],
    ['whose new connection was not reported may be gone', true, gone(9999), silence + 1],
    ['whose last report took long is lost', true, gone(71), 61],
    ['without a presence event is there', false, undefined, heartbeatSeconds],
    ['without a report for long is lost', true, undefined, silence + 1],
    ['without any event or report is lost', true, undefined],
  ])('%s', (_case, lost, presence, reportedAgo) => {
    const lastReportAt = reportedAgo === undefined ? undefined : ago(reportedAgo);
    expect(isLost(present({ presence, lastReportAt }), now)).toBe(lost);
  });

  it.each([
    ['that has just disconnected', true, gone(1), 60, undefined],
    ['whose connection has named its boot', false, there(60), 59, undefined],
    ['whose connection has named its boot at once', false, there(60), 60, undefined],
    ['whose connection has not named its boot yet', true, there(1), 60, undefined],
    ['whose work ended since it connected, and that has not named its boot', true, there(9), 60, 5],
    ['that has reported since', false, gone(30), 5, undefined],
    ['that has worked since', false, gone(30), 60, 5],
    ['that never connected', false, undefined, 60, undefined],
  ])('%s may have rebooted: %s', (_case, mayHave, presence, reportedAgo, workedAgo) => {
    const heard = present({ presence, lastReportAt: ago(reportedAgo) });
    const workedAt = workedAgo === undefined ? undefined : ago(workedAgo);
    expect(mayHaveRebooted(heard, now, workedAt)).toBe(mayHave);
  });

  it.each([
    [false, 60],
    [true, 61],
  ])('whose end seems long ago is lost (%s) %d s after it ended work', (lost, workedAgo) => {
    expect(isLost({ presence: gone(9999) }, now, ago(workedAgo))).toBe(lost);
  });
});
