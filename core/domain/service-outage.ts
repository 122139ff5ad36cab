// Whether a service of AWS is away, by the error of its client. Pure.

const throttles = /Throttling|Throughput|LimitExceeded|ServiceUnavailableException/;

/** The code of a system error, of which no answer came; Node's own errors begin with ERR_. */
const noAnswer = /^E(?!RR_)/;

interface SdkError extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** Whether the same call can succeed later; what it asks for may have been done. */
export function isOutage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { name, code = '', $metadata: metadata } = error as SdkError;
  return (
    name === 'TimeoutError' ||
    throttles.test(name) ||
    noAnswer.test(code) ||
    (metadata?.httpStatusCode ?? 0) >= 500
  );
}
