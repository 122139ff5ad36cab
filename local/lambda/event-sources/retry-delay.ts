// How long to wait before trying again: 50 ms, doubled each time, at most five seconds.

const firstMs = 50;
const longestMs = 5000;

/** @param failures how many there were before this one */
export function retryDelayMs(failures: number): number {
  return Math.min(firstMs * 2 ** Math.min(failures, 10), longestMs);
}
