import { describe, expect, it } from 'vitest';
import { RefreshLoop, retryMsMax, retryPauseMs } from '#console/api/refresh.ts';

/** A loop whose readings end when the test says so, on a clock that the test moves. */
function aLoop() {
  let now = 0;
  const waits = new Map<number, () => void>();
  const readings: ((succeeded: boolean) => void)[] = [];
  const retries: number[] = [];
  let next = 0;
  const loop = new RefreshLoop({
    everyMs: 5000,
    read: () => new Promise((resolve) => readings.push(resolve)),
    timers: {
      now: () => now,
      after: (ms, run) => {
        const id = next++;
        const at = now + ms;
        waits.set(id, () => now >= at && waits.delete(id) && run());
        return () => waits.delete(id);
      },
    },
    onRetryAt: (atMs) => retries.push(atMs),
  });
  return {
    loop,
    retries,
    /** Readings that were begun. */
    begun: () => readings.length,
    pass: (ms: number) => {
      now += ms;
      for (const wait of [...waits.values()]) wait();
    },
    end: async (succeeded = true) => {
      readings.at(-1)?.(succeeded);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('RefreshLoop', () => {
  it('reads at once, and again a pause after the end of a reading', async () => {
    const { loop, begun, pass, end } = aLoop();
    loop.start(true);
    expect(begun()).toBe(1);
    pass(60_000);
    expect(begun()).toBe(1);
    await end();
    pass(4999);
    expect(begun()).toBe(1);
    pass(1);
    expect(begun()).toBe(2);
  });

  it('never has two readings on their way, however often it is asked', async () => {
    const { loop, begun, end } = aLoop();
    loop.start(true);
    loop.now();
    loop.now();
    expect(begun()).toBe(1);
    await end();
    expect(begun()).toBe(2);
    await end();
    expect(begun()).toBe(2);
  });

  it('reads nothing while the page is hidden, and at once when it is seen', async () => {
    const { loop, begun, pass, end } = aLoop();
    loop.start(true);
    await end();
    loop.setVisible(false);
    pass(60_000);
    loop.now();
    expect(begun()).toBe(1);
    loop.setVisible(true);
    expect(begun()).toBe(2);
  });

  it('keeps its pause where the page was hidden for a moment only', async () => {
    const { loop, begun, pass, end } = aLoop();
    loop.start(true);
    await end();
    loop.setVisible(false);
    loop.setVisible(true);
    expect(begun()).toBe(1);
    pass(5000);
    expect(begun()).toBe(2);
  });

  it('waits longer after each failure, says until when, and is itself after a success', async () => {
    const { loop, begun, pass, end, retries } = aLoop();
    loop.start(true);
    await end(false);
    expect(retries).toEqual([2000]);
    pass(2000);
    await end(false);
    expect(retries).toEqual([2000, 6000]);
    pass(4000);
    expect(begun()).toBe(3);
    await end(true);
    pass(4999);
    expect(begun()).toBe(3);
    pass(1);
    expect(begun()).toBe(4);
    await end(false);
    expect(retries.at(-1)).toBe(6000 + 5000 + 2000);
  });

  it('does nothing after its end, not even where a reading was on its way', async () => {
    const { loop, begun, pass, end, retries } = aLoop();
    loop.start(true);
    loop.stop();
    await end(false);
    loop.now();
    loop.setVisible(true);
    pass(60_000);
    expect([begun(), retries]).toEqual([1, []]);
  });
});

it('a pause after failures grows to a minute and no further', () => {
  expect([1, 2, 3, 4, 5, 6, 60].map(retryPauseMs)).toEqual([
    ...[2000, 4000, 8000, 16_000, 32_000],
    ...[retryMsMax, retryMsMax],
  ]);
});
