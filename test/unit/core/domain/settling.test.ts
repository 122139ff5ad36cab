import { describe, expect, it } from 'vitest';
import type { StoredHost } from '#core/domain/host/host.ts';
import { settlingMs, settlingSeconds } from '#core/domain/host/identity.ts';
import { present } from '#core/shapes/derive/present.ts';

const helloMs = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(helloMs + seconds * 1000).toISOString();

/** @param connected seconds from the hello of the boot, negative */
const host = (
  presence: StoredHost['presence'] | undefined,
  lastReceived = -600,
): Parameters<typeof settlingSeconds>[0] =>
  present({
    bootId: 'new',
    bootedAt: at(0),
    sequence: 1,
    lastReceivedAtMs: helloMs,
    earlierBoots: [
      {
        bootId: 'old',
        sequence: 9,
        lastReceivedMs: helloMs + lastReceived * 1000,
        replacedAtMs: helloMs,
        replacedBySequence: 1,
      },
    ],
    presence,
  });

const connected = (second: number, endedBefore?: number): StoredHost['presence'] => ({
  isConnected: true,
  at: at(second),
  ...present({ endedBefore: endedBefore === undefined ? undefined : at(endedBefore) }),
});

describe('a new boot', () => {
  it.each<[string, StoredHost['presence'] | undefined, number | undefined, lastReceived?: number]>([
    ['does not settle after an absence', connected(-1, -60), undefined],
    ['does not settle after an absence of five seconds', connected(-1, -6), undefined],
    ['settles if the connection before ended just then', connected(-1, -2), 18],
    ['settles if the end of the connection before is not known', connected(-1), 18],
    ['settles while the event of its connection is missing', connected(-600, -700), 1],
    [
      'settles while the event of its connection is missing',
      { isConnected: false, at: at(-60) },
      1,
    ],
    ['settles without any event', undefined, 1],
    ['settles if a later connection has begun', connected(1, -60), 1],
    ['settles if the replaced boot reported over the connection', connected(-3, -60), 1, -2],
  ])('%s', (_case, presence, retrySeconds, lastReceived) => {
    expect(settlingSeconds(host(presence, lastReceived), helloMs + 2000)).toBe(retrySeconds);
  });

  it('settles for twenty seconds at most', () => {
    expect(settlingSeconds(host(connected(-1)), helloMs + settlingMs - 1)).toBeDefined();
    expect(settlingSeconds(host(connected(-1)), helloMs + settlingMs)).toBeUndefined();
  });

  it('does not settle if it is the first of the host', () => {
    const first = { ...host(undefined), earlierBoots: [] };
    expect(settlingSeconds(first, helloMs)).toBeUndefined();
  });
});
