import { describe, expect, it } from 'vitest';
import { endedKind, partitionsOfEnd } from '#core/domain/history/ended-incidents.ts';
import { daysKept, endedIncidents } from '#core/domain/history/history.ts';
import { deriveHistory } from '#core/domain/history/history-of-change.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';

const at = (minute: number) => `2026-07-01T01:${String(minute).padStart(2, '0')}:00.000Z`;
const host = { hostname: 'cmp1', firstSeen: at(0), devices: 1, notOffered: 0 };
const presence = (isConnected: boolean, minute: number): HostSummary => ({
  ...host,
  presence: { isConnected, since: at(minute) },
});
const lost = (count: number): HostSummary => ({
  ...host,
  lostProviders: { since: at(10), count, isNodeLost: false },
});
const ahead = (clockAheadSeconds: number): HostSummary => ({ ...host, clockAheadSeconds });
const metadata = { id: 'stream-1', at: Date.parse(at(50)) };

describe('the end of an incident', () => {
  it.each([
    ['an agent back after ten minutes', presence(false, 10), presence(true, 20), 'host-away'],
    ['an agent back within the grace', presence(false, 10), presence(true, 11), undefined],
    ['an agent that has gone', presence(true, 10), presence(false, 20), undefined],
    ['an agent seen first', undefined, presence(true, 20), undefined],
    ['a host forgotten while away', presence(false, 10), undefined, 'host-away'],
    ['a host forgotten that never left', host, undefined, undefined],
    ['a conflict that ends', { ...host, conflictSince: at(10) }, host, 'conflict'],
    ['providers that are back', lost(2), host, 'lost-providers'],
    ['more providers that are lost', lost(2), lost(3), undefined],
    ['a clock that was mended', ahead(60), ahead(0), 'clock-skew'],
    ['a clock that is still wrong', ahead(60), ahead(-7), undefined],
    ['a clock that is no longer measured', ahead(60), host, undefined],
    ['a clock that moved a little', ahead(2), ahead(0), undefined],
  ])('%s', (_what, before, after, ended) => {
    const change = { kind: 'host', ...(before && { before }), ...(after && { after }) } as const;
    const records = deriveHistory(change, metadata);
    const kinds = records.flatMap((record) => endedKind(record) ?? []);
    expect(kinds).toEqual(ended ? [ended] : []);
    const copies = records.flatMap(partitionsOfEnd);
    expect(copies).toEqual(ended ? [endedIncidents] : []);
    // A clock does not say since when it was wrong.
    const since = ended && ended !== 'clock-skew' ? at(10) : undefined;
    expect(records.find(endedKind)?.since).toBe(since);
  });

  it('has what the incident was, and who ended it', () => {
    const of = (before: HostSummary, after: HostSummary) =>
      deriveHistory({ kind: 'host', before, after }, metadata);
    expect(of(host, lost(2))).toMatchObject([{ kind: 'host.providers-lost', at: at(10) }]);
    const reason = "Placement lacks 2 resource providers of the host's devices.";
    expect(of(lost(2), host)).toMatchObject([{ by: 'service', reason }]);
    expect(of(ahead(0), ahead(60))).toMatchObject([{ kind: 'host.clock-off', by: 'agent' }]);
    expect(of(ahead(60), ahead(1))).toMatchObject([
      { by: 'agent', reason: "The clock of the host is 60 s ahead of the control plane's." },
    ]);
  });

  it('is kept together for 35 days, or for as long as the history', () => {
    const kept = (days: number) => daysKept({ kind: 'device.healthy' }, endedIncidents, days);
    expect([kept(400), kept(7)]).toEqual([35, 7]);
  });
});
