// Virtual time: events run in the order of their times, without waiting.

import { createMoments } from './moments.ts';

/**
 * Seconds since the start. Events of the same time run in the order in which they were planned.
 */
export class Timeline {
  now = 0;
  readonly #moments = createMoments<() => void>();

  after(seconds: number, run: () => void): void {
    this.#moments.add(this.now + seconds, run);
  }

  /** Runs all events up to that time. */
  run(until: number): void {
    for (;;) {
      const moment = this.#moments.takeUntil(until);
      if (!moment) break;
      this.now = moment.at;
      moment.act();
    }
    this.now = until;
  }
}

/** A quota as AWS enforces it: a rate per second, with a burst of one second unless given. */
export class Quota {
  refused = 0;
  #tokens: number;
  #filledAt = 0;
  readonly #timeline: Timeline;
  readonly #perSecond: number;
  readonly #burst: number;

  constructor(timeline: Timeline, perSecond: number, burst = perSecond) {
    this.#timeline = timeline;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  has(count: number): boolean {
    const { now } = this.#timeline;
    this.#tokens += (now - this.#filledAt) * this.#perSecond;
    this.#tokens = Math.min(this.#tokens, this.#burst);
    this.#filledAt = now;
    return this.#tokens >= count;
  }

  /** Whether the request is granted; a refusal consumes nothing. */
  take(count = 1): boolean {
    if (!this.has(count)) {
      this.refused += 1;
      return false;
    }
    this.#tokens -= count;
    return true;
  }
}
