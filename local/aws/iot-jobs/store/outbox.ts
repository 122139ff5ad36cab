// Delivers events to the rules. An event is committed with its change and deleted after its
// delivery: if this process dies in between, it is delivered twice.

import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '#core/log.ts';
import type { JobStorage } from './storage.ts';

/** How many deliveries run in parallel: AWS promises no order of events either. */
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

  /** Call it after an event was committed. */
  wake(): void {
    if (this.#isRunning || this.#stopping.signal.aborted) return;
    this.#isRunning = true;
    this.#drained = this.#drain();
  }

  /** Waits for the deliveries in progress; the other events stay in the file. */
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
            this.#log.warn('Job event delivery failed, retrying', { topic, error });
            return false;
          }
        }),
      );
      if (outcomes.includes(false)) {
        await delay(retryDelayMs, undefined, { signal }).catch(() => {});
      }
    }
    // End in the same turn as the last look for events, so that no event is missed in between.
    this.#isRunning = false;
  }
}
