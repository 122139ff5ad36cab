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

/** Seconds before the next attempt: doubling from one, up to `secondsMax`. */
export function backoffSeconds(attempt: number, secondsMax: number): number {
  return Math.min(2 ** Math.max(attempt - 1, 0), secondsMax);
}
