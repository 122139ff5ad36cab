// Tells when the engine has written, so that readers of its streams neither ask it nor look at its file
// all the time. The kernel says that the file changed; SQLite's own counter says whether a commit did it.

import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

export interface EngineWrites {
  /** Another number after each commit of the engine's; asking costs microseconds. */
  version(): number;
  /**
   * Resolves when there was a commit after that version, when nothing was heard for so long that it is
   * time to look all the same, or at the signal.
   */
  changedSince(version: number, signal: AbortSignal): Promise<void>;
}

/** The file changes just before its commit can be seen: looked for again after 1, 2, 4 ... ms. */
const soonMs = 1;
const soonMsMax = 64;
/** Not every file system tells of changes. */
const unheardMs = 500;
/** Even when nothing seems to have changed: a missed hint must not cost a record. */
const lookAnywayMs = 10_000;

export interface WatchedWrites extends EngineWrites {
  close(): void;
}

export function watchWrites(file: string, version: () => number): WatchedWrites {
  const waiting = new Set<{ readonly since: number; readonly wake: () => void }>();
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** @param delayMs after how long to look again for those who still wait */
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
      // No watch is to be had: the timer is enough, if later.
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
