import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { collectWhenIdle } from '#local/process/idle-memory.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

it('collects in an idle interval, when work was done since the last collection', () => {
  let cpu = 3_000_000;
  let collections = 0;
  collectWhenIdle({
    intervalMs: 10_000,
    cpuMicroseconds: () => cpu,
    collect: () => {
      collections += 1;
      cpu += 500_000;
    },
  });
  const passes = (microseconds: number) => {
    cpu += microseconds;
    vi.advanceTimersByTime(10_000);
    return collections;
  };
  // The start is work.
  expect(passes(0)).toBe(0);
  expect(passes(100_000)).toBe(1);
  expect(passes(100_000)).toBe(1);
  expect(passes(2_000_000)).toBe(1);
  expect(passes(5_000_000)).toBe(1);
  expect(passes(0)).toBe(2);
  // Polls and heartbeats leave garbage, too: these add up to 0.6 s of work.
  const whilePolling = Array.from({ length: 6 }, () => passes(100_000));
  expect(whilePolling).toEqual([2, 2, 2, 2, 3, 3]);
});

it('frees what nothing refers to', async () => {
  const reference = new WeakRef({});
  let cpu = 3_000_000;
  collectWhenIdle({ intervalMs: 10_000, cpuMicroseconds: () => cpu });
  vi.advanceTimersByTime(10_000);
  cpu += 1;
  // An object that was referred to in this run of JavaScript is kept until the run ends.
  await new Promise((resolve) => setImmediate(resolve));
  vi.advanceTimersByTime(10_000);
  expect(reference.deref()).toBeUndefined();
});
