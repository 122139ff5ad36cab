// Optimistic concurrency: an operation reads, decides, and writes on the condition that what it
// has read still holds. Where another writer came first, it reads again.

/** The answer of an attempt whose write did not hold, because another writer came first. */
export const contended = Symbol('contended');

/**
 * Repeats the attempt until it is not contended.
 *
 * @param roundsMax how often; far more than other writers can come first, unless something is
 *   wrong
 * @param attempt one round of reading, deciding and writing; rounds count from 1
 * @throws the given error when all rounds are contended
 */
export async function untilWritten<T>(
  roundsMax: number,
  attempt: (round: number) => Promise<T | typeof contended>,
  exhausted: () => Error,
): Promise<T> {
  for (let round = 1; round <= roundsMax; round++) {
    const outcome = await attempt(round);
    if (outcome !== contended) return outcome;
  }
  throw exhausted();
}
