import { expect, vi } from 'vitest';
import { noteProgress, startWait } from '#local/demo/stillness.ts';

interface Pace {
  readonly intervalMs?: number;
  /** Without any change; by default two minutes. */
  readonly stillSeconds?: number;
}

/** The real timers, also while a test has fake ones. */
const { setTimeout } = globalThis;

/**
 * An expectation that is retried until it is met: `await eventually(read).toBe(1)`. It gives up
 * with the last failure when nothing changes any more, however slow the machine is.
 */
export function eventually<T>(
  read: () => T | Promise<T>,
  pace: Pace = {},
): ReturnType<typeof expect.poll> {
  return retried(read, pace, (value) => expect(value)) as ReturnType<typeof expect.poll>;
}

function retried<T>(
  read: () => T | Promise<T>,
  pace: Pace,
  expectation: (value: T) => object,
): object {
  return new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === 'not') {
          return retried(read, pace, (value) => Reflect.get(expectation(value), name));
        }
        return (...expected: unknown[]) =>
          met(async () => {
            const assertion = expectation(await read());
            await Reflect.get(assertion, name).apply(assertion, expected);
          }, pace);
      },
    },
  );
}

/** What the first call that does not throw returns. */
export async function met<T>(
  attempt: () => T | Promise<T>,
  { intervalMs = 20, stillSeconds }: Pace = {},
): Promise<T> {
  const isOver = startWait(stillSeconds);
  for (let last: string | undefined; ; ) {
    try {
      return await attempt();
    } catch (error) {
      const failure = String(error);
      if (failure !== last) noteProgress();
      if (isOver()) throw error;
      last = failure;
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
    if (vi.isFakeTimers()) vi.advanceTimersByTime(intervalMs);
  }
}
