// How long Nova waits for each request, how many servers per second are possible, and how both
// change with the number of stored ARQs of others.

import { type Api, createApi } from './system/api.ts';
import { type CallName, callNames, novaCycle, type Place } from './system/nova-cycle.ts';

/** A server under measurement. */
export interface Subject {
  readonly title: string;
  readonly api: Api;
  /** The workers share the places evenly. */
  readonly places: readonly Place[];
}

export interface LatencyOptions {
  /** Cycles at each concurrency. */
  readonly iterations: number;
  readonly concurrencies: readonly number[];
}

export interface Round {
  readonly concurrency: number;
  cycles: number;
  seconds: number;
  /** Milliseconds. */
  readonly samples: Readonly<Record<CallName, number[]>>;
  /**
   * The median of each turn, in order: turns of other subjects with the same index ran next to it.
   */
  readonly turnMedians: Readonly<Record<CallName, number[]>>;
}

export interface Measured {
  readonly subject: Subject;
  readonly rounds: readonly Round[];
  /** Why some cycles were not measured. */
  failure?: string;
}

/** The limit for one subject, with its set-up. */
const secondsMax = 600;
/** Cycles before the measurement, for connections, tokens and compiled code. */
const warmUpCycles = 200;
/**
 * Subjects take turns after these cycles: a short disturbance slows all subjects alike, and their
 * ratios still hold.
 */
const turnCycles = 10;

export async function measure(
  subjects: readonly Subject[],
  { iterations, concurrencies }: LatencyOptions,
): Promise<Measured[]> {
  const deadline = performance.now() + secondsMax * 1000 * subjects.length;
  const measured = subjects.map((subject): Measured => {
    return { subject, rounds: concurrencies.map(emptyRound) };
  });
  const most = Math.max(...concurrencies);
  for (const each of measured) {
    await turn(each, emptyRound(most), Math.min(warmUpCycles, iterations), deadline);
  }
  for (const at of concurrencies.keys()) {
    for (let done = 0; done < iterations; done += turnCycles) {
      for (const each of measured) {
        const round = each.rounds[at];
        if (round) await turn(each, round, Math.min(turnCycles, iterations - done), deadline);
      }
    }
  }
  return measured;
}

function emptyRound(concurrency: number): Round {
  const lists = () =>
    Object.fromEntries(callNames.map((name) => [name, []])) as unknown as Record<
      CallName,
      number[]
    >;
  return { concurrency, cycles: 0, seconds: 0, samples: lists(), turnMedians: lists() };
}

/** Skips a subject that has failed: the results before its failure are printed. */
async function turn(
  measured: Measured,
  round: Round,
  cycles: number,
  deadline: number,
): Promise<void> {
  if (measured.failure !== undefined) return;
  const { api, places } = measured.subject;
  const startedAt = performance.now();
  let left = cycles;
  async function work(worker: number): Promise<void> {
    const place = places[worker % places.length];
    if (!place) throw new RangeError('No place to bind to.');
    while (left-- > 0 && measured.failure === undefined) {
      if (performance.now() > deadline) throw new Error('The time limit is over.');
      await cycle(api, place, round);
    }
  }
  const workers = Array.from({ length: round.concurrency }, (_, worker) =>
    work(worker).catch((error: Error) => {
      measured.failure ??= error.message;
    }),
  );
  const counted = Object.fromEntries(
    callNames.map((call) => [call, round.samples[call].length]),
  ) as Record<CallName, number>;
  await Promise.all(workers);
  for (const call of callNames) {
    round.turnMedians[call].push(percentile(round.samples[call].slice(counted[call]), 0.5));
  }
  round.seconds += (performance.now() - startedAt) / 1000;
}

async function cycle(api: Api, place: Place, round: Round): Promise<void> {
  const { steps, abandon } = novaCycle(api, place);
  try {
    for (const { call, run } of steps) round.samples[call].push(await run());
    round.cycles++;
  } catch (error) {
    await abandon();
    throw error;
  }
}

/** The value below which this share of the sorted samples lies; NaN without samples. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function createSubject(
  title: string,
  target: Parameters<typeof createApi>[0],
  places: readonly Place[],
): Subject {
  return { title, api: createApi(target), places };
}
