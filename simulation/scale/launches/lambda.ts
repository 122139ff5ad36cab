// Lambda's executions: an account's quota, the growth of each function, and cold starts.

import { Quota, type Timeline } from '../timeline.ts';
import { growth } from './limits.ts';

interface Pool {
  /** Executions that have started and wait for a call. */
  idle: number;
  readonly started: Quota;
}

export type Started = 'warm' | 'cold';

export class Executions {
  running = 0;
  /** The most that ran at once. */
  most = 0;
  readonly #timeline: Timeline;
  readonly #quota: number;
  readonly #provisioned: number;
  readonly #pools = new Map<string, Pool>();

  constructor(timeline: Timeline, quota: number, provisioned: number) {
    this.#timeline = timeline;
    this.#quota = quota;
    this.#provisioned = provisioned;
  }

  /** What refuses it, if it does not start. */
  start(name: string): Started | 'executions' | 'growth of a function' {
    if (this.running >= this.#quota) return 'executions';
    const pool = this.#poolOf(name);
    if (pool.idle === 0 && !pool.started.take()) return 'growth of a function';
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    if (pool.idle === 0) return 'cold';
    pool.idle -= 1;
    return 'warm';
  }

  end(name: string): void {
    this.running -= 1;
    this.#poolOf(name).idle += 1;
  }

  #poolOf(name: string): Pool {
    const earlier = this.#pools.get(name);
    if (earlier) return earlier;
    const started = new Quota(this.#timeline, growth.perSecond, growth.atFirst);
    const pool = { idle: this.#provisioned, started };
    this.#pools.set(name, pool);
    return pool;
  }
}
