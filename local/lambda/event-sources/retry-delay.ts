// The wait before a retry: 50 ms, doubled each time, at most five seconds.

const firstMs = 50;
const longestMs = 5000;

/** @param failures number of earlier failures */
export function retryDelayMs(failures: number): number {
  return Math.min(firstMs * 2 ** Math.min(failures, 10), longestMs);
}
