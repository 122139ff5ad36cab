// Long polling: the receivers that wait for messages of a queue, and the events that wake them.

const longestMs = 20_000;

export class Arrivals {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Call it when a message was sent to the queue, or became visible again. */
  announce(queue: string): void {
    for (const wake of this.#waiting.get(queue) ?? []) wake();
  }

  /** Resolves at the next arrival, at the timeout, or when the receiver has disconnected. */
  wait(queue: string, forMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(queue) ?? new Set();
      this.#waiting.set(queue, waiting);
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(Math.max(forMs, 1), longestMs));
      waiting.add(wake);
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    });
  }
}
