// Keeps one process running: starts it, and starts it again when it has ended by itself.

import { setTimeout as delay } from 'node:timers/promises';

export interface Launched {
  /** Rejects when the process ended before it was ready. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended, for whatever reason. Never rejects. */
  readonly ended: Promise<void>;
  /** Resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface Supervised {
  /** Resolves when it is ready. @throws what it failed with */
  start(): Promise<void>;
  /** Ends the process, and does not start it again. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

export interface SupervisorOptions {
  /** Asked when the process has ended by itself. */
  readonly mayRestart: () => boolean;
  readonly onRestart?: () => void;
}

const firstDelayMs = 500;
const longestDelayMs = 5000;
/** A process that was asked to end and does not is killed. */
const endWithinMs = 10_000;

export function supervise(launch: () => Launched, options: SupervisorOptions): Supervised {
  let running: Launched | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isWanted = false;
  /** A process that never was ready is its first starter's to deal with. */
  let wasReady = false;
  let failures = 0;

  async function start(): Promise<void> {
    clearTimeout(timer);
    isWanted = true;
    if (running === undefined) {
      const launched = launch();
      running = launched;
      // The only place that starts it again. A process that ends while it starts rejects `ready` as
      // well: were that a second place, each such end would double the processes.
      void launched.ended.then(() => {
        if (running !== launched) return;
        running = undefined;
        startLater();
      });
    }
    await running.ready;
    wasReady = true;
    failures = 0;
  }

  function startLater(): void {
    const delayMs = Math.min(firstDelayMs * 2 ** failures, longestDelayMs);
    failures += 1;
    // One signal may end the processes and then us: what is said and done waits for that.
    timer = setTimeout(() => {
      if (!isWanted || !wasReady || !options.mayRestart()) return;
      options.onRestart?.();
      start().catch(() => {});
    }, delayMs);
    timer.unref();
  }

  return {
    start,
    kill: async (signal = 'SIGKILL') => {
      isWanted = false;
      clearTimeout(timer);
      const dying = running;
      if (dying === undefined) return;
      const patience = new AbortController();
      void delay(endWithinMs, undefined, { ref: false, signal: patience.signal }).then(
        () => dying.end('SIGKILL'),
        () => {},
      );
      await dying.end(signal);
      patience.abort();
      if (running === dying) running = undefined;
    },
  };
}
