// The agent's clock; the simulation has its own implementation.

import { setTimeout as sleepUntil } from 'node:timers/promises';

export interface Clock {
  /** Measures intervals: setting the host's time does not affect it. */
  monotonicMs(): number;
  wallMs(): number;
  /** Resolves early, without an error, when the signal aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: async (milliseconds, signal) => {
    await sleepUntil(milliseconds, undefined, signal ? { signal } : {}).catch((error: unknown) => {
      if (!signal?.aborted) throw error;
    });
  },
};
