import { expect, vi } from 'vitest';
import { noteProgress, standsStill } from '#local/demo/stillness.ts';

/** Those of the machine, also while a test has others. */
const { setTimeout } = globalThis;

/**
 * An expectation that is retried until it is met: `await eventually(read).toBe(1)`. It gives up
 * with the last failure when nothing changes any more, however slow the machine is.
 */
export function eventually<T>(
  read: () => T | Promise<T>,
  { intervalMs = 20 } = {},
): ReturnType<typeof expect.poll> {
  return retried(read, intervalMs, (value) => expect(value)) as ReturnType<typeof expect.poll>;
}

function retried<T>(
  read: () => T | Promise<T>,
  intervalMs: number,
  expectation: (value: T) => object,
): object {
  return new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === 'not') {
          return retried(read, intervalMs, (value) => Reflect.get(expectation(value), name));
        }
        return (...expected: unknown[]) =>
          met(async () => {
            const assertion = expectation(await read());
            await Reflect.get(assertion, name).apply(assertion, expected);
          }, intervalMs);
      },
    },
  );
}

/** What the first call that does not throw returns. */
export async function met<T>(attempt: () => T | Promise<T>, intervalMs = 20): Promise<T> {
  noteProgress();
  for (let last: string | undefined; ; ) {
    try {
      return await attempt();
    } catch (error) {
      const failure = String(error);
      if (failure !== last) noteProgress();
      else if (standsStill()) throw error;
      last = failure;
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
    if (vi.isFakeTimers()) vi.advanceTimersByTime(intervalMs);
  }
}
