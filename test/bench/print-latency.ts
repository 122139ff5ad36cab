import { type Measured, percentile, type Round } from './latency.ts';
import { callNames } from './nova-cycle.ts';
import { printTable } from './print-table.ts';
import { upstreamMedians } from './upstream.ts';

const growthMax = 1.2;

/** One table per subject; where there are several, how the others' medians compare to the first's. */
export function printLatency(measured: readonly Measured[]): void {
  for (const each of measured) printSubject(each);
  const [first, ...others] = measured;
  if (first && others.length > 0) printGrowth(first, others);
}

function printSubject({ subject, rounds, failure }: Measured): void {
  printTable(
    `${subject.title}: milliseconds, and upstream Cyborg's median with none stored`,
    ['', 'upstream', ...rounds.flatMap(headOf)],
    callNames.map((call) => [
      call,
      shown(upstreamMedians[call], 1),
      ...rounds.flatMap(({ concurrency, samples }) => {
        const median = percentile(samples[call], 0.5);
        const times = [shown(median, 1), shown(percentile(samples[call], 0.99), 1)];
        const faster = shown(upstreamMedians[call] / median, 1);
        return concurrency === 1 ? [...times, `${faster}x`] : times;
      }),
    ]),
  );
  for (const round of rounds.filter(({ cycles }) => cycles > 0))
    console.log(`  ${throughputOf(round)}`);
  if (failure !== undefined) console.log(`  It ended early. ${failure}`);
}

/** Upstream was measured one call at a time. */
function headOf({ concurrency }: Round): string[] {
  const times = [`p50 of ${concurrency}`, `p99 of ${concurrency}`];
  return concurrency === 1 ? [...times, 'faster'] : times;
}

function throughputOf({ concurrency, cycles, seconds }: Round): string {
  const perSecond = cycles / seconds;
  const requests = (perSecond * callNames.length).toFixed(0);
  return (
    `${concurrency} at once: ${perSecond.toFixed(1)} servers/s, each with one of each call; ` +
    `${requests} req/s in all (${cycles} servers).`
  );
}

function printGrowth(first: Measured, others: readonly Measured[]): void {
  const ratiosOf = (call: (typeof callNames)[number]) =>
    others.flatMap(({ rounds }) =>
      rounds.map(({ samples }, at) => {
        const base = percentile(first.rounds[at]?.samples[call] ?? [], 0.5);
        return percentile(samples[call], 0.5) / base;
      }),
    );
  const heads = others.flatMap(({ subject, rounds }) =>
    rounds.map(({ concurrency }) => `${subject.title}, ${concurrency} at once`),
  );
  printTable(
    `Medians compared to those with ${first.subject.title}`,
    ['', ...heads],
    callNames.map((call) => [call, ...ratiosOf(call).map((ratio) => shown(ratio, 2))]),
  );
  if (first.failure !== undefined || others.some(({ failure }) => failure !== undefined)) return;
  const most = Math.max(...callNames.flatMap(ratiosOf));
  const verdict = most <= growthMax ? 'within' : 'above';
  console.log(`  At most ${most.toFixed(2)}: ${verdict} the target of ${growthMax}.`);
}

/** Nothing was measured where there is no number. */
function shown(value: number, digits: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}
