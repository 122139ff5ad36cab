// Claims that last: those that were read, those since, and none that has ended.

import { expect, it } from 'vitest';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { lastingNow } from '#core/domain/quota/lasting-claims.ts';

const at = (minute: number) => `2026-07-01T00:${String(minute).padStart(2, '0')}:00.000Z`;
const held = { projectId: 'demo', resourceClass: 'FPGA' };
const claim = (handleUuid: string, minute: number) => ({
  ...held,
  handleUuid,
  since: at(minute),
});
const record = (kind: 'handle.claimed' | 'handle.released', change: Partial<HistoryRecord>) => ({
  ...held,
  id: `${kind} ${change.at}`,
  at: at(0),
  kind,
  ...change,
});
const keysOf = (...given: Parameters<typeof lastingNow>) => [...lastingNow(...given).keys()].sort();
const nowMs = Date.parse(at(30));

it('a claim that was read lasts until its release, and one of the same handle is another', () => {
  const hosts = [{ hostname: 'cmp1', claims: [claim('a', 1), claim('b', 2)] }];
  const released = record('handle.released', { handleUuid: 'a', since: at(1), at: at(5) });
  const again = record('handle.claimed', { handleUuid: 'a', at: at(6) });
  expect(keysOf(hosts, [again, released], nowMs)).toEqual([`a ${at(6)}`, `b ${at(2)}`]);
  const span = { ...held, fromMs: Date.parse(at(6)), toMs: nowMs };
  expect(lastingNow(hosts, [again, released], nowMs).get(`a ${at(6)}`)).toEqual(span);
});

it('a claim that was read and is in the history counts once', () => {
  const hosts = [{ hostname: 'cmp1', claims: [claim('a', 1)] }];
  expect(keysOf(hosts, [record('handle.claimed', { handleUuid: 'a', at: at(1) })], nowMs)).toEqual([
    `a ${at(1)}`,
  ]);
});

it('a claim that ended before the host was read does not last', () => {
  const changes = [
    record('handle.released', { handleUuid: 'a', since: at(1), at: at(3) }),
    record('handle.claimed', { handleUuid: 'a', at: at(1) }),
  ];
  expect(keysOf([{ hostname: 'cmp1', claims: [] }], changes, nowMs)).toEqual([]);
});
