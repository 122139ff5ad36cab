// Keeps one process running: starts it, and restarts it when it ends unexpectedly.

import { setTimeout as delay } from 'node:timers/promises';

export interface Launched {
  /** Rejects if the process ends before it is ready. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended, for any reason. Never rejects. */
  readonly ended: Promise<void>;
  /** Resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface Supervised {
  /** Resolves when the process is ready. @throws the error of the start */
  start(): Promise<void>;
  /** Ends the process and does not restart it. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

interface SupervisorOptions {
  /** Called when the process has ended unexpectedly. */
  readonly mayRestart: () => boolean;
  readonly onRestart?: () => void;
}

const firstDelayMs = 500;
const longestDelayMs = 5000;
/** The time after which a process that does not end is killed. */
const endWithinMs = 10_000;

export function supervise(launch: () => Launched, options: SupervisorOptions): Supervised {
  let running: Launched | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isWanted = false;
  // If the process was never ready, `start` rejects, and its caller decides.
  let wasReady = false;
  let failures = 0;

  async function start(): Promise<void> {
    clearTimeout(timer);
    isWanted = true;
    if (running === undefined) {
      const launched = launch();
      running = launched;
      // The only place that restarts the process. A process that ends during its start rejects
      // `ready` as well: a restart there would double the processes.
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
    // Wait: one signal may end the processes first and this one next, which then must not restart
    // them.
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
