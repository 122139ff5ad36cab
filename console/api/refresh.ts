// Reads again and again, while the page is visible: one reading at a time, the next one after a
// pause, and after failures a longer one.

interface Timers {
  readonly now: () => number;
  /** Returns what ends the wait. */
  readonly after: (ms: number, run: () => void) => () => void;
}

interface RefreshOptions {
  /** The pause between the end of a reading and the next. */
  readonly everyMs: number;
  /** True if the reading succeeded. It does not throw. */
  readonly read: () => Promise<boolean>;
  readonly timers: Timers;
  /** When the next reading is due after one that failed. */
  readonly onRetryAt?: (atMs: number) => void;
}

const retryMsMin = 2000;
export const retryMsMax = 60_000;

/** @param failures in a row; at least one */
export function retryPauseMs(failures: number): number {
  return Math.min(retryMsMax, retryMsMin * 2 ** (failures - 1));
}

export class RefreshLoop {
  readonly #options: RefreshOptions;
  #state: 'stopped' | 'waiting' | 'reading' = 'stopped';
  #isVisible = true;
  #failures = 0;
  #endWait: (() => void) | undefined;
  /** A reading is due: it was requested during another one, or while the page was hidden. */
  #isWanted = false;

  constructor(options: RefreshOptions) {
    this.#options = options;
  }

  start(isVisible: boolean): void {
    this.#isVisible = isVisible;
    this.#state = 'waiting';
    this.now();
  }

  stop(): void {
    this.#endWait?.();
    this.#state = 'stopped';
  }

  /** Reads at once; while a reading is on its way, right after it. */
  now(): void {
    if (this.#state === 'stopped') return;
    if (this.#state === 'reading' || !this.#isVisible) {
      this.#isWanted = true;
      return;
    }
    void this.#read();
  }

  setVisible(isVisible: boolean): void {
    if (this.#isVisible === isVisible) return;
    this.#isVisible = isVisible;
    if (isVisible && this.#isWanted && this.#state === 'waiting') void this.#read();
  }

  async #read(): Promise<void> {
    this.#endWait?.();
    this.#endWait = undefined;
    this.#isWanted = false;
    this.#state = 'reading';
    const succeeded = await this.#options.read();
    if (this.#state !== 'reading') return;
    this.#state = 'waiting';
    this.#failures = succeeded ? 0 : this.#failures + 1;
    if (this.#isWanted && this.#isVisible) {
      void this.#read();
      return;
    }
    this.#wait();
  }

  #wait(): void {
    const { everyMs, timers, onRetryAt } = this.#options;
    const pauseMs = this.#failures === 0 ? everyMs : retryPauseMs(this.#failures);
    if (this.#failures > 0) onRetryAt?.(timers.now() + pauseMs);
    this.#endWait = timers.after(pauseMs, () => this.now());
  }
}
