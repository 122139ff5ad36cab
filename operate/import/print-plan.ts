// The plan as a table for the operator.

import type { ImportPlan, PlanRow, Verdict } from './plan.ts';

const order: readonly Verdict[] = ['refuse', 'skip', 'import', 'present'];

export function planLines({ rows }: ImportPlan): string[] {
  const sorted = [...rows].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  const width = (of: (row: PlanRow) => string) => Math.max(...rows.map((row) => of(row).length), 0);
  const [verdicts, whats, names] = [
    width(({ verdict }) => verdict),
    width(({ what }) => what),
    width(({ name }) => name),
  ];
  return sorted.map(({ verdict, what, name, note }) =>
    [verdict.padEnd(verdicts), what.padEnd(whats), name.padEnd(names), note].join('  '),
  );
}

/** One line, such as `12 to import, 1 skipped, 0 refused, 3 present`. */
export function countLine({ rows }: ImportPlan): string {
  const count = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict).length;
  return `${count('import')} to import, ${count('present')} present, ${count('skip')} skipped, ${count('refuse')} refused`;
}
