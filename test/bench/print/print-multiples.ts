// The times of one of Nova's calls for several subjects, compared with the first.

import { type Measured, percentile } from '../latency.ts';
import { ratioOf, shownRatio, verdictOf } from '../ratio.ts';
import type { CallName } from '../system/nova-cycle.ts';
import { printTable } from './print-table.ts';

/** Returns false if a ratio is above the target. */
export function printMultiples(
  call: CallName,
  measured: readonly Measured[],
  max: number,
): boolean {
  const calls = measured.map(({ subject, rounds }) => ({
    title: subject.title,
    samples: rounds.flatMap(({ samples }) => samples[call]),
    turns: rounds.flatMap(({ turnMedians }) => turnMedians[call]),
  }));
  const base = calls[0]?.turns ?? [];
  const ratios = calls.map(({ turns }) => ratioOf(base, turns));
  printTable(
    `${call}: milliseconds, and multiples of the first in turns`,
    ['', 'p50', 'p99', 'multiple (spread of the median)'],
    calls.map(({ title, samples }, at) => [
      title,
      percentile(samples, 0.5).toFixed(1),
      percentile(samples, 0.99).toFixed(1),
      shownRatio(ratios[at]),
    ]),
  );
  const verdict = verdictOf(
    ratios.slice(1).filter((ratio) => ratio !== undefined),
    max,
  );
  console.log(`  Target of ${max}: ${verdict}.`);
  return verdict !== 'above';
}
