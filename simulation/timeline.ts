// Virtual time. Every interaction of a process with its world is an effect: it happens as a whole
// at its moment, one at a time, and the process continues after it. So the order of effects
// determines the scenario, and a process can die before or after any effect.

import { createMoments } from '#simulation/scale/moments.ts';
import type { Random } from './random.ts';

/** A process that can die: after its death it has no effects, and its waits never end. */
export interface Process {
  readonly name: string;
  isDead: boolean;
  /** Called once when the process dies. */
  onDeath?: () => void;
}

export interface Timeline {
  now(): number;
  /** How many moments have passed. */
  steps(): number;
  at(timeMs: number, act: () => unknown): void;
  /** Schedules an effect of the process, some milliseconds from now. */
  effect<T>(process: Process, name: string, act: () => T | Promise<T>): Promise<T>;
  /** Ends early, without an error, when the signal aborts. */
  sleep(process: Process, milliseconds: number, signal?: AbortSignal): Promise<void>;
  kill(process: Process): void;
  /** Runs all moments up to the given time. */
  runUntil(timeMs: number): Promise<void>;
}

interface TimelineOptions {
  readonly random: Random;
  readonly startMs: number;
  /** Milliseconds that an effect takes. */
  readonly latency: () => number;
  /**
   * Called before an effect: may kill the process, throw instead of the effect, or return how many
   * milliseconds late the effect happens.
   */
  readonly before?: (process: Process, name: string) => number | undefined;
  /** Called after an effect: may kill the process, so that it never gets the result. */
  readonly after?: (process: Process, name: string) => void;
  /** Called after every moment; an error ends the scenario. */
  readonly check?: () => void;
}

export function createTimeline(options: TimelineOptions): Timeline {
  const { latency, before = () => undefined, after = () => {}, check = () => {} } = options;
  const moments = createMoments<() => unknown>();
  let nowMs = options.startMs;
  let steps = 0;

  function at(timeMs: number, act: () => unknown): void {
    moments.add(Math.max(timeMs, nowMs), act);
  }

  return {
    now: () => nowMs,
    steps: () => steps,
    at,
    effect: (process, name, act) =>
      new Promise((resolve, reject) => {
        const happen = async (isStalled: boolean): Promise<void> => {
          if (process.isDead) return;
          try {
            const stallMs = isStalled ? undefined : before(process, name);
            if (process.isDead) return;
            if (stallMs !== undefined) return at(nowMs + stallMs, () => happen(true));
            const result = await act();
            after(process, name);
            if (!process.isDead) resolve(result);
          } catch (error) {
            after(process, name);
            if (!process.isDead) reject(error);
          }
        };
        at(nowMs + latency(), () => happen(false));
      }),
    sleep: (process, milliseconds, signal) =>
      new Promise((resolve) => {
        const wake = () => {
          signal?.removeEventListener('abort', wake);
          if (!process.isDead) resolve();
        };
        if (signal?.aborted) return resolve();
        signal?.addEventListener('abort', wake);
        at(nowMs + milliseconds, wake);
      }),
    kill: (process) => {
      if (process.isDead) return;
      process.isDead = true;
      process.onDeath?.();
    },
    async runUntil(timeMs) {
      for (;;) {
        const moment = moments.takeUntil(timeMs);
        if (!moment) break;
        nowMs = moment.at;
        steps += 1;
        await moment.act();
        // Every process whose wait has ended continues to its next effect.
        await settled();
        check();
      }
      nowMs = timeMs;
    },
  };
}

/** Resolves with the next turn of the event loop, when no promise is left to settle. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
