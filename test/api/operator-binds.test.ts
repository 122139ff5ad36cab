// The counts of binds by hour in the operator's API.

import { beforeAll, describe, expect, it } from 'vitest';
import { settledAfterMs } from '#core/domain/history/bind-counts.ts';
import { providerUuid } from '#core/domain/ids.ts';

import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { addRecords } from './history-records.ts';
import { operatorsApi } from './operators-api.ts';

const world = perFile(() =>
  startWorld({ consumers: true, settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }),
);
const operator = operatorsApi(world);
const hourMs = 3_600_000;
const hourAgo = (hours: number) =>
  new Date((Math.floor(Date.now() / hourMs) - hours) * hourMs).toISOString();
const minutesAfter = (hour: string, minutes: number) =>
  new Date(Date.parse(hour) + minutes * 60_000).toISOString();

async function bindsOf(hour: string) {
  const { json } = await operator('GET', `/binds?from=${hour}&to=${minutesAfter(hour, 60)}`);
  return json.binds;
}

const instance = 'bbbbbbbb-0000-4000-8000-000000000001';

describe('GET /operator/v1/binds', () => {
  beforeAll(async () => {
    await applySettled(world.deps, 'cmp1', aReport([aDevice({ handles: 4 })]), Date.now());
    await world.createProfile('pair', { 'resources:FPGA': '2' });
  });

  it('counts a bind of two accelerators once, and again after the server has got others', async () => {
    const provider = providerUuid('cmp1_FakeDevice');
    const from = hourAgo(0);
    const bound = async () => {
      const { json } = await operator('GET', `/binds?from=${from}`);
      return json.binds.reduce((sum, { bound: count }) => sum + count, 0);
    };
    await world.createBound('pair', { provider, instance });
    await eventually(bound).toBe(1);
    await world.asNova('DELETE', `/v2/accelerator_requests?instance=${instance}`);
    await world.createBound('pair', { provider, instance });
    await eventually(bound).toBe(2);
  });

  it('has a failed bind in the hour of its failure, and not among those that succeeded', async () => {
    const hour = hourAgo(5);
    const next = hourAgo(4);
    const at = minutesAfter(hour, 59);
    await addRecords({ kind: 'handle.claimed', at, instanceUuid: instance, requestId: 'req-slow' });
    await addRecords({ kind: 'handle.claimed', at, instanceUuid: instance, requestId: 'req-good' });
    await addRecords({ kind: 'handle.claimed', at, instanceUuid: instance, by: 'import' });
    const failure = { kind: 'bind.failed', instanceUuid: instance } as const;
    await addRecords({ ...failure, at: minutesAfter(hour, 61), requestId: 'req-slow' });
    // It was refused, and had claimed nothing.
    await addRecords({ ...failure, at: minutesAfter(hour, 2), requestId: 'req-refused' });
    expect(await bindsOf(hour)).toEqual([{ hour, bound: 1, failed: 1 }]);
    expect(await bindsOf(next)).toEqual([{ hour: next, bound: 0, failed: 1 }]);
  });

  it('counts an hour once that has ended some time ago', async () => {
    const hour = hourAgo(8);
    const claim = { kind: 'handle.claimed', at: minutesAfter(hour, 1) } as const;
    await addRecords({ ...claim, instanceUuid: instance, requestId: 'req-1' });
    expect(await bindsOf(hour)).toEqual([{ hour, bound: 1, failed: 0 }]);
    await addRecords({ ...claim, instanceUuid: instance, requestId: 'req-2' });
    expect(await bindsOf(hour)).toEqual([{ hour, bound: 1, failed: 0 }]);
  });

  it('counts an hour again until its last records have come', async () => {
    const hour = hourAgo(12);
    const claim = { kind: 'handle.claimed', at: minutesAfter(hour, 50) } as const;
    const range = { from: hour, to: minutesAfter(hour, 60) };
    const endMs = Date.parse(range.to);
    const countAt = async (ms: number) => {
      const { counts } = await world.deps.store.bindCounts.read(range, () => ms);
      return counts[0]?.bound;
    };
    await addRecords({ ...claim, instanceUuid: instance, requestId: 'req-1' });
    expect(await countAt(endMs + settledAfterMs - 1)).toBe(1);
    await addRecords({ ...claim, instanceUuid: instance, requestId: 'req-2' });
    expect(await countAt(endMs + settledAfterMs + 1)).toBe(2);
  });

  it('says where to read on when the time is up', async () => {
    const range = { from: hourAgo(20), to: hourAgo(17) };
    let ms = Date.now();
    const slow = () => (ms += 10_000);
    const { bindCounts } = world.deps.store;
    const { counts, next } = await bindCounts.read(range, slow);
    expect([counts.map(({ hour }) => hour), next]).toEqual([[hourAgo(18)], hourAgo(18)]);
    const rest = await bindCounts.read({ ...range, to: String(next) }, Date.now);
    expect(rest.counts.map(({ hour }) => hour)).toEqual([hourAgo(19), hourAgo(20)]);
    expect(rest.next).toBeUndefined();
  });

  it.each([
    ['?from=2020-01-01&to=2020-01-02', 'at most 31 days ago'],
    ['?from=2026-03-02&to=2026-03-01', 'must be before to'],
    ['?hour=1', 'hour'],
  ])('%s: 400', async (query, error) => {
    const { status, json } = await operator('GET', `/binds${query}`);
    expect([status, json.error]).toEqual([400, expect.stringContaining(error)]);
  });
});
