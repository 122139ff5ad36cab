// Time as the agent sees it; a simulation brings its own.

import { setTimeout as sleepUntil } from 'node:timers/promises';

export interface Clock {
  /** For intervals: never steps when the host's time is set. */
  monotonicMs(): number;
  wallMs(): number;
  /** Ends early, without an error, when the signal aborts. */
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
