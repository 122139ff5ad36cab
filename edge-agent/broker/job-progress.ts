// Sends the progress of a job: the newest state, at most every other second, one update at a
// time. Older states are skipped, and a failed update does not delay the job.

import type { Clock } from '#agent/clock.ts';

const intervalMs = 2_000;

interface JobProgress {
  /** Step `number` of the job is at `percent`. */
  report(number: number, percent: number): void;
  /** Resolves when no update is in flight; nothing is sent afterwards. */
  stop(): Promise<void>;
}

interface JobProgressDeps {
  readonly steps: number;
  readonly clock: Clock;
  /** Never rejects. */
  readonly send: (details: Readonly<Record<string, string>>) => Promise<void>;
}

export function trackProgress({ steps, clock, send }: JobProgressDeps): JobProgress {
  const stopped = new AbortController();
  let latest: Readonly<Record<string, string>> | undefined;
  let sending: Promise<void> = Promise.resolve();
  let isSending = false;

  /** Waits first: the start is already reported, and most jobs end before the first update. */
  async function sendLatest(): Promise<void> {
    while (latest) {
      await clock.sleep(intervalMs, stopped.signal);
      if (stopped.signal.aborted) break;
      const details = latest;
      latest = undefined;
      await send(details);
    }
    isSending = false;
  }

  return {
    report: (number, percent) => {
      const clamped = Math.min(100, Math.max(0, Math.round(percent)));
      latest = { step: `${number}/${steps}`, percent: String(clamped) };
      if (isSending || stopped.signal.aborted) return;
      isSending = true;
      sending = sendLatest();
    },
    stop: async () => {
      stopped.abort();
      await sending;
    },
  };
}
