// Virtual time: events run in the order of their times, without waiting.

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Seconds since the start. Events of the same time run in the order in which they were planned.
 */
export class Timeline {
  now = 0;
  #order = 0;
  readonly #heap: Due[] = [];

  after(seconds: number, run: () => void): void {
    this.#order += 1;
    this.#heap.push({ at: this.now + seconds, order: this.#order, run });
    let at = this.#heap.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Runs all events up to that time. */
  run(until: number): void {
    for (let next = this.#heap[0]; next && next.at <= until; next = this.#heap[0]) {
      this.#takeFirst();
      this.now = next.at;
      next.run();
    }
    this.now = until;
  }

  #takeFirst(): void {
    const last = this.#heap.pop();
    if (!last || this.#heap.length === 0) return;
    this.#heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < this.#heap.length && this.#isBefore(left, least)) least = left;
      if (right < this.#heap.length && this.#isBefore(right, least)) least = right;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one] as Due, this.#heap[other] as Due];
    return a.at < b.at || (a.at === b.at && a.order < b.order);
  }

  #swap(one: number, other: number): void {
    const held = this.#heap[one] as Due;
    this.#heap[one] = this.#heap[other] as Due;
    this.#heap[other] = held;
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

  /** Whether the request is granted; a refusal consumes nothing. */
  take(count = 1): boolean {
    const { now } = this.#timeline;
    this.#tokens += (now - this.#filledAt) * this.#perSecond;
    this.#tokens = Math.min(this.#tokens, this.#burst);
    this.#filledAt = now;
    if (this.#tokens < count) {
      this.refused += 1;
      return false;
    }
    this.#tokens -= count;
    return true;
  }
}

/** Uniform in [0, 1), the same in each run. https://github.com/cprosche/mulberry32 */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
