// When DynamoDB is away, throttles or does not answer in time. In a file of its own, as
// marker-not-found.ts.

/** The same call can succeed later; a write may have been done. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';

  constructor(cause: Error) {
    super(`DynamoDB is unavailable: ${cause.name}: ${cause.message}`, { cause });
  }
}

const throttles = /Throttling|Throughput|LimitExceeded/;

/** The code of a system error, of which no answer came; Node's own errors begin with ERR_. */
const noAnswer = /^E(?!RR_)/;

interface SdkError extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** DatabaseUnavailable for what passes by itself; any other error as it is. */
export function nameOutage(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnavailable) return error;
  const { name, code = '', $metadata: metadata } = error as SdkError;
  const isAway =
    name === 'TimeoutError' ||
    throttles.test(name) ||
    noAnswer.test(code) ||
    (metadata?.httpStatusCode ?? 0) >= 500;
  return isAway ? new DatabaseUnavailable(error) : error;
}
