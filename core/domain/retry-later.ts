/**
 * The work can succeed later without a change by an operator: the message is delivered again after
 * `seconds`.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly seconds: number;

  constructor(reason: string, seconds: number) {
    super(reason);
    this.seconds = seconds;
  }
}

/** What was away is met again within this time, for the first ten minutes of an outage. */
const soonSecondsMax = 8;
const soonAttempts = 100;

/** The longest pause of a longer outage. */
const pauseSecondsMax = 60;

/**
 * Seconds before the next attempt after a failure: doubling from one, at most 8 in the first
 * hundred attempts, which take ten minutes, and later at most 60. Jitter takes up to half of it,
 * so that what failed together does not come back together.
 *
 * @param random in [0, 1)
 */
export function pauseSeconds(attempt: number, random: number): number {
  const longest = attempt <= soonAttempts ? soonSecondsMax : pauseSecondsMax;
  return backoffSeconds(attempt, longest) * (0.5 + random / 2);
}

/** Seconds before the next attempt: doubling from one, up to `secondsMax`. */
export function backoffSeconds(attempt: number, secondsMax: number): number {
  return Math.min(2 ** Math.max(attempt - 1, 0), secondsMax);
}
