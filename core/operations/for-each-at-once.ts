/** A device is a few requests to DynamoDB, one after the other. */
export const devicesAtOnce = 8;

/**
 * Does the work for each item, at most `atOnceMax` at once. Ends when all have ended, also where
 * one failed: no write goes on after the caller's answer.
 */
export async function forEachAtOnce<T>(
  items: readonly T[],
  atOnceMax: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await work(item);
  };
  const workers = Array.from({ length: Math.min(atOnceMax, items.length) }, worker);
  const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}
