// Optimistic concurrency: an operation reads, decides, and writes on the condition that what it
// has read still holds. Where another writer came first, it reads again.

/** The answer of an attempt whose write did not hold, because another writer came first. */
export const contended = Symbol('contended');

/** Far more rounds than other writers can come first, unless something is wrong. */
const roundsMax = {
  /** Claims, binds, releases and deletes of ARQs. */
  arqs: 30,
  /** Units and limits of a quota; releases that replace each other. */
  quotas: 10,
  /** Rows of a device, and its providers in Placement. */
  devices: 5,
  profiles: 5,
} as const;

/**
 * Repeats the attempt until it is not contended.
 *
 * @param attempt one round of reading, deciding and writing; rounds count from 1
 * @param failure what to throw when all rounds are contended, or a clause that says what failed
 */
export async function untilWritten<T>(
  rows: keyof typeof roundsMax,
  attempt: (round: number) => Promise<T | typeof contended>,
  failure: string | (() => Error),
): Promise<T> {
  const rounds = roundsMax[rows];
  for (let round = 1; round <= rounds; round++) {
    const outcome = await attempt(round);
    if (outcome !== contended) return outcome;
  }
  throw typeof failure === 'string' ? new Error(`${failure} in ${rounds} rounds.`) : failure();
}
