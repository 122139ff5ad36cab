import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { waitFor } from '#local/demo/demo-client.ts';
import { noteProgress } from '#local/demo/stillness.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

it('waits as long as something changes, however slow the machine is', async () => {
  let reads = 0;
  const value = await waitFor(
    'the tenth read',
    async () => {
      vi.advanceTimersByTime(50_000);
      reads += 1;
      // The value stays the same at every second read, and progress is noted instead.
      if (reads % 2 === 0) noteProgress();
      await delay(1);
      return Math.floor(reads / 2);
    },
    (read) => read === 5,
  );
  expect(value).toBe(5);
});

it('fails after two minutes without a change, and names what it waited for', async () => {
  const waiting = waitFor(
    'the server to be ACTIVE',
    async () => {
      vi.advanceTimersByTime(10_000);
      return 'BUILD';
    },
    (status) => status === 'ACTIVE',
  );
  await expect(waiting).rejects.toThrow(
    'Waited for the server to be ACTIVE; no change for 120 s. Last: "BUILD"',
  );
});
