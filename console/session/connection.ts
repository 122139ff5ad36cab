// The connection to the API. All readings of the screens report here, and the banner shows it.

import type { ApiFailure } from '#console/api/failure.ts';

interface Outage {
  readonly sinceMs: number;
  readonly sentence: string;
  readonly retryAtMs: number | undefined;
}

type Listener = () => void;

export class Connection {
  #outage: Outage | undefined;
  readonly #onChange = new Set<Listener>();
  readonly #onRetry = new Set<Listener>();

  get outage(): Outage | undefined {
    return this.#outage;
  }

  worked(): void {
    if (this.#outage) this.#become(undefined);
  }

  failed(failure: ApiFailure, nowMs: number): void {
    if (!failure.isPassing) return;
    const { sinceMs = nowMs, retryAtMs } = this.#outage ?? {};
    this.#become({ sinceMs, sentence: failure.message, retryAtMs });
  }

  /** When a reading that failed is tried again: the earliest counts. */
  retryAt(atMs: number, nowMs: number): void {
    if (!this.#outage) return;
    const { retryAtMs } = this.#outage;
    const isNext = retryAtMs === undefined || retryAtMs <= nowMs || atMs < retryAtMs;
    if (isNext) this.#become({ ...this.#outage, retryAtMs: atMs });
  }

  /** All screens read at once, without the pause. */
  retryNow(): void {
    for (const listener of [...this.#onRetry]) listener();
  }

  onChange(listener: Listener): () => void {
    this.#onChange.add(listener);
    return () => this.#onChange.delete(listener);
  }

  onRetry(listener: Listener): () => void {
    this.#onRetry.add(listener);
    return () => this.#onRetry.delete(listener);
  }

  #become(outage: Outage | undefined): void {
    this.#outage = outage;
    for (const listener of [...this.#onChange]) listener();
  }
}
