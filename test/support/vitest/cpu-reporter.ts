// Compares the CPU time of a run, by folder, with its budget in test/cpu-budget.json, and prints
// what is above it. A machine may be slower than that of the budget, so nothing fails.

import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import budgets from '#test/cpu-budget.json' with { type: 'json' };

/** Folder → CPU seconds. */
type Budget = Readonly<Record<string, number>>;

export const cpuReporter: Reporter = {
  onTestRunEnd(modules) {
    // A run of some files alone has no budget.
    const budget = (budgets as Readonly<Record<string, Budget>>)[
      `npm run ${process.env.npm_lifecycle_event}`
    ];
    if (!budget) return;
    const lines = linesOf(secondsByFolder(modules), budget);
    process.once('exit', () => console.log(lines.join('\n')));
  },
};

function secondsByFolder(modules: readonly TestModule[]): Budget {
  const sums: Record<string, number> = {};
  for (const module of modules) {
    const folder = relative(process.cwd(), module.moduleId).split('/').slice(0, 2).join('/');
    sums[folder] = (sums[folder] ?? 0) + (module.meta().cpuSeconds ?? 0);
  }
  return sums;
}

/** What exceeds the budget, and last the sum of all folders. */
export function linesOf(used: Budget, budget: Budget): readonly string[] {
  const text = (name: string, seconds: number, limit: number) =>
    `${name}: ${Math.round(seconds)} CPU s of ${limit}`;
  const above = Object.entries(used)
    .filter(([folder, seconds]) => seconds > (budget[folder] ?? 0) + 1)
    .map(([folder, seconds]) => `${text(folder, seconds, budget[folder] ?? 0)}, above its budget`);
  const sum = (amounts: Budget) => Object.values(amounts).reduce((all, each) => all + each, 0);
  return [...above, text('all tests', sum(used), sum(budget))];
}
