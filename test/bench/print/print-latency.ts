import { type Measured, percentile, type Round } from '../latency.ts';
import { type Ratio, ratioOf, shownRatio, type Verdict, verdictOf } from '../ratio.ts';
import { callNames } from '../system/nova-cycle.ts';
import { printTable } from './print-table.ts';

/** The limit for the ratio of medians, with other ARQs stored to with none. */
export const growthMax = 1.2;

/**
 * Prints one table per subject and, for several subjects, the ratios to the first. Ratios compare
 * only measurements of this run.
 *
 * Returns false if a ratio is above the target, beyond the spread of the measurement.
 *
 * @param targetMax the limit for the ratios, if there is one
 */
export function printLatency(measured: readonly Measured[], targetMax?: number): boolean {
  for (const each of measured) printSubject(each);
  const [first, ...others] = measured;
  if (!first || others.length === 0) return true;
  return printRatios(first, others, targetMax) !== 'above';
}

function printSubject({ subject, rounds, failure }: Measured): void {
  printTable(
    `${subject.title}: milliseconds`,
    ['', ...rounds.flatMap(headOf)],
    callNames.map((call) => [
      call,
      ...rounds.flatMap(({ samples }) => [
        shown(percentile(samples[call], 0.5)),
        shown(percentile(samples[call], 0.99)),
      ]),
    ]),
  );
  for (const round of rounds.filter(({ cycles }) => cycles > 0))
    console.log(`  ${throughputOf(round)}`);
  if (failure !== undefined) console.log(`  It ended early. ${failure}`);
}

function headOf({ concurrency }: Round): string[] {
  return [`p50 of ${concurrency}`, `p99 of ${concurrency}`];
}

function throughputOf({ concurrency, cycles, seconds }: Round): string {
  const perSecond = cycles / seconds;
  const requests = (perSecond * callNames.length).toFixed(0);
  return (
    `${concurrency} at once: ${perSecond.toFixed(1)} servers/s, each with one of each call; ` +
    `${requests} req/s in all (${cycles} servers).`
  );
}

function printRatios(
  first: Measured,
  others: readonly Measured[],
  targetMax?: number,
): Verdict | undefined {
  const ratiosOf = (call: (typeof callNames)[number]): (Ratio | undefined)[] =>
    others.flatMap(({ rounds }) =>
      rounds.map(({ turnMedians }, at) =>
        ratioOf(first.rounds[at]?.turnMedians[call] ?? [], turnMedians[call]),
      ),
    );
  const heads = others.flatMap(({ subject, rounds }) =>
    rounds.map(({ concurrency }) => `${subject.title}, ${concurrency} at once`),
  );
  printTable(
    `Medians as multiples of those of ${first.subject.title}, measured in turns (spread of the median)`,
    ['', ...heads],
    callNames.map((call) => [call, ...ratiosOf(call).map(shownRatio)]),
  );
  if (targetMax === undefined) return undefined;
  if ([first, ...others].some(({ failure }) => failure !== undefined)) return undefined;
  const ratios = callNames.flatMap(ratiosOf).filter((ratio) => ratio !== undefined);
  const verdict = verdictOf(ratios, targetMax);
  const most = Math.max(...ratios.map(({ median }) => median));
  const sentence =
    verdict === 'undecided'
      ? `the spread reaches over the target of ${targetMax}; --iterations with more narrows it`
      : `${verdict} the target of ${targetMax}`;
  console.log(`  At most ${most.toFixed(2)}: ${sentence}.`);
  return verdict;
}

/** Without samples there is no number. */
function shown(value: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(1);
}
