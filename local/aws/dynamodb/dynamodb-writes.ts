// Reports writes of the engine, so that readers of its streams need not poll. The kernel reports
// that the file changed; SQLite's own counter says whether a commit changed it.

import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

export interface EngineWrites {
  /** A number that changes with each commit of the engine; reading it takes microseconds. */
  version(): number;
  /**
   * Resolves after a commit later than that version, after a time without any report of a change,
   * or at the signal.
   */
  changedSince(version: number, signal: AbortSignal): Promise<void>;
}

/** The file changes just before its commit is visible: check again after 1, 2, 4 ... ms. */
const soonMs = 1;
const soonMsMax = 64;
/** Not every file system reports changes. */
const unheardMs = 500;
/** Read the stream this often even without a change, so that a missed one costs no record. */
const lookAnywayMs = 10_000;

interface WatchedWrites extends EngineWrites {
  close(): void;
}

export function watchWrites(file: string, version: () => number): WatchedWrites {
  const waiting = new Set<{ readonly since: number; readonly wake: () => void }>();
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** @param delayMs how long to wait before the next check */
  function look(delayMs: number): void {
    clearTimeout(timer);
    if (waiting.size === 0) return;
    const now = version();
    for (const each of waiting) {
      if (each.since !== now) each.wake();
    }
    if (waiting.size === 0) return;
    timer = setTimeout(
      () => look(delayMs < soonMsMax ? delayMs * 2 : unheardMs),
      Math.min(delayMs, unheardMs),
    );
  }

  function listen(): void {
    try {
      watcher ??= watch(dirname(file), { persistent: false }, (_event, name) => {
        if (name === null || name.startsWith(basename(file))) look(soonMs);
      }).on('error', () => {});
    } catch {
      // No watch is available: the timer is enough, only slower.
    }
  }

  return {
    version,
    changedSince: (since, signal) => {
      listen();
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(patience);
          signal.removeEventListener('abort', wake);
          waiting.delete(waiter);
          resolve();
        };
        const waiter = { since, wake };
        const patience = setTimeout(wake, lookAnywayMs);
        waiting.add(waiter);
        signal.addEventListener('abort', wake);
        if (signal.aborted) wake();
        else look(soonMs);
      });
    },
    close: () => {
      clearTimeout(timer);
      watcher?.close();
      for (const { wake } of waiting) wake();
    },
  };
}
