// Compares two servers that were measured in turns. The ratio is taken turn by turn: a short
// disturbance of the machine slows both sides of one ratio. A verdict states only what the spread
// allows.

import { percentile } from './latency.ts';

export interface Ratio {
  readonly median: number;
  /** Bounds of the true median in 19 of 20 runs, by the ranks of the turns. */
  readonly least: number;
  readonly most: number;
}

/** Undefined without a turn in which both were measured. */
export function ratioOf(base: readonly number[], other: readonly number[]): Ratio | undefined {
  const ratios = other
    .map((median, turn) => median / (base[turn] ?? Number.NaN))
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  if (ratios.length === 0) return undefined;
  const half = ratios.length / 2;
  const spread = 0.98 * Math.sqrt(ratios.length);
  const at = (rank: number) =>
    ratios[Math.min(Math.max(Math.round(rank), 0), ratios.length - 1)] ?? Number.NaN;
  return {
    median: percentile(ratios, 0.5),
    least: at(half - spread - 1),
    most: at(half + spread),
  };
}

export type Verdict = 'within' | 'above' | 'undecided';

export function verdictOf(ratios: readonly Ratio[], max: number): Verdict {
  if (ratios.some(({ least }) => least > max)) return 'above';
  return ratios.length > 0 && ratios.every(({ most }) => most <= max) ? 'within' : 'undecided';
}

export function shownRatio(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '-';
  const [median, least, most] = [ratio.median, ratio.least, ratio.most].map((x) => x.toFixed(2));
  return `${median} (${least} to ${most})`;
}
