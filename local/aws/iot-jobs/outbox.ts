// Brings events to the rules. They were committed with the change that they tell of, and are deleted
// only when delivered: whoever kills us in between finds that they are told again.

import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '#core/log.ts';
import type { JobStorage } from './storage.ts';

/** Side by side: AWS promises no order of events either. */
const atOnce = 16;
const retryDelayMs = 500;

export type Deliver = (topic: string, payload: Buffer) => Promise<void>;

export class Outbox {
  readonly #storage: JobStorage;
  readonly #deliver: Deliver;
  readonly #log: Log;
  readonly #stopping = new AbortController();
  #isRunning = false;
  #drained: Promise<void> = Promise.resolve();

  constructor(storage: JobStorage, deliver: Deliver, log: Log) {
    this.#storage = storage;
    this.#deliver = deliver;
    this.#log = log;
  }

  /** There may be something to deliver. */
  wake(): void {
    if (this.#isRunning || this.#stopping.signal.aborted) return;
    this.#isRunning = true;
    this.#drained = this.#drain();
  }

  /** What is being delivered is waited for; what is left stays in the file. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#drained;
  }

  async #drain(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const events = this.#storage.oldestEvents(atOnce);
      if (events.length === 0) break;
      const outcomes = await Promise.all(
        events.map(async ({ number, topic, payload }) => {
          try {
            await this.#deliver(topic, Buffer.from(payload));
            this.#storage.deleteEvent(number);
            return true;
          } catch (error) {
            this.#log.warn('A job event waits to be delivered.', { topic, error });
            return false;
          }
        }),
      );
      if (outcomes.includes(false)) {
        await delay(retryDelayMs, undefined, { signal }).catch(() => {});
      }
    }
    // In the same turn in which nothing more was found: nobody is woken in between for nothing.
    this.#isRunning = false;
  }
}
