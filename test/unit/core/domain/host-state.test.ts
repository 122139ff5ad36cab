import { describe, expect, it } from 'vitest';
import type { StoredHost } from '#core/domain/host/host.ts';
import { deriveHostState, hostStates, isReachable } from '#core/domain/host/host-state.ts';

const nowMs = Date.parse('2026-07-01T12:00:00.000Z');
const ago = (seconds: number) => new Date(nowMs - seconds * 1000).toISOString();

function aHost(given: Partial<StoredHost> = {}): StoredHost {
  return {
    hostname: 'cmp1',
    bootId: 'b',
    bootedAt: ago(5000),
    epoch: 1,
    sequence: 1,
    lastReceivedAtMs: 0,
    lastReportAt: ago(100),
    isReprovisioning: false,
    earlierBoots: [],
    wanted: {},
    refused: {},
    ...given,
  };
}
const gone = (seconds: number) => ({ isConnected: false, at: ago(seconds) });
const drain = { by: 'user-1', at: ago(50), reason: 'A fan is replaced.' };
const conflict = { since: ago(30), boots: [] };

describe('the state of a host', () => {
  it.each([
    ['reports, without presence events', aHost(), 'online', ago(5000)],
    ['is connected', aHost({ presence: { isConnected: true, at: ago(40) } }), 'online', ago(40)],
    ['lost its agent just now', aHost({ presence: gone(59) }), 'online', ago(5000)],
    ['lost its agent', aHost({ presence: gone(300), lastReportAt: ago(301) }), 'away', ago(300)],
    [
      'reported after the event',
      aHost({ presence: gone(300), lastReportAt: ago(20) }),
      'online',
      ago(5000),
    ],
    ['is silent', aHost({ lastReportAt: ago(3601) }), 'away', ago(3601)],
    [
      'is silent although it is connected',
      aHost({ presence: { isConnected: true, at: ago(9000) }, lastReportAt: ago(3601) }),
      'away',
      ago(3601),
    ],
    ['is drained', aHost({ drain }), 'drained', drain.at],
    ['is drained until later', aHost({ drain: { ...drain, until: ago(-1) } }), 'drained', drain.at],
    [
      'was to be drained until now',
      aHost({ drain: { ...drain, until: ago(0) } }),
      'drained',
      drain.at,
    ],
    ['is drained and away', aHost({ drain, lastReportAt: ago(3601) }), 'away', ago(3601)],
    ['is in conflict and away', aHost({ conflict, presence: gone(300) }), 'conflict', ago(30)],
  ])('of a host that %s', (_what, host, state, since) => {
    expect(deriveHostState(host, {}, nowMs)).toEqual({ state, since });
  });

  it('online and drained reach its agent', () => {
    expect(hostStates.filter(isReachable)).toEqual(['online', 'drained']);
  });

  it('of a host that only connected is never-reported, since it was first seen', () => {
    const { bootId: _boot, lastReportAt: _at, ...never } = aHost();
    expect(deriveHostState(never, { firstSeen: ago(7) }, nowMs)).toEqual({
      state: 'never-reported',
      since: ago(7),
    });
  });
});
