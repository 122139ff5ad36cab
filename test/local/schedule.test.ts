import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startSchedule } from '#local/lambda/event-sources/schedule.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('runs its target every period, and continues when a run fails', async () => {
  let runs = 0;
  const handler = async () => {
    runs += 1;
    if (runs === 1) throw new Error('once');
  };
  const schedule = startSchedule({
    everySeconds: 60,
    target: { name: 'sweep', timeoutSeconds: 30, handler },
  });
  await vi.advanceTimersByTimeAsync(59_000);
  expect(runs).toBe(0);
  await vi.advanceTimersByTimeAsync(61_000);
  expect(runs).toBe(2);
  await schedule.stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(runs).toBe(2);
});

it('does not start a second run while one is in progress', async () => {
  let runs = 0;
  const handler = () => {
    runs += 1;
    return new Promise<void>((resolve) => setTimeout(resolve, 150_000));
  };
  const schedule = startSchedule({
    everySeconds: 60,
    target: { name: 'sweep', timeoutSeconds: 900, handler },
  });
  await vi.advanceTimersByTimeAsync(200_000);
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(40_000);
  expect(runs).toBe(2);
  const stopped = schedule.stop();
  await vi.advanceTimersByTimeAsync(150_000);
  await stopped;
});

it('runs from the beginning when asked, after the run that is in progress', async () => {
  const begun: number[] = [];
  const handler = () => {
    begun.push(Date.now());
    return new Promise<void>((resolve) => setTimeout(resolve, 10_000));
  };
  const schedule = startSchedule({
    everySeconds: 60,
    target: { name: 'sweep', timeoutSeconds: 30, handler },
  });
  await vi.advanceTimersByTimeAsync(65_000);
  const askedAt = Date.now();
  const run = schedule.run();
  await vi.advanceTimersByTimeAsync(20_000);
  await run;
  expect(begun.map((at) => at - askedAt)).toEqual([-5_000, 5_000]);
  await schedule.stop();
});
