// The results of many scenarios, added up.

import type { Outcome } from './scenarios/run.ts';
import { allowed } from './world/rules/transitions.ts';

export interface Summary {
  seeds: number;
  steps: number;
  simulatedHours: number;
  readonly faults: Record<string, number>;
  readonly transitions: Record<string, number>;
  readonly servers: Record<string, number>;
  readonly failures: { readonly seed: number; readonly message: string }[];
}

export function emptySummary(): Summary {
  return {
    seeds: 0,
    steps: 0,
    simulatedHours: 0,
    faults: {},
    transitions: {},
    servers: {},
    failures: [],
  };
}

export function addOutcome(summary: Summary, outcome: Outcome): void {
  const { seed, steps, simulatedMs, violation } = outcome;
  summary.seeds += 1;
  summary.steps += steps;
  summary.simulatedHours += simulatedMs / 3_600_000;
  count(summary.faults, outcome.faults);
  count(summary.transitions, outcome.transitions);
  count(summary.servers, Object.entries(outcome.servers));
  if (violation) summary.failures.push({ seed, message: violation.message });
}

export function merge(into: Summary, other: Summary): void {
  into.seeds += other.seeds;
  into.steps += other.steps;
  into.simulatedHours += other.simulatedHours;
  count(into.faults, Object.entries(other.faults));
  count(into.transitions, Object.entries(other.transitions));
  count(into.servers, Object.entries(other.servers));
  into.failures.push(...other.failures);
}

function count(into: Record<string, number>, counts: Iterable<readonly [string, number]>): void {
  for (const [name, times] of counts) into[name] = (into[name] ?? 0) + times;
}

/** The summary as lines of text. */
export function describeSummary(summary: Summary, seconds: number): string[] {
  const listed = (counts: Record<string, number>) =>
    Object.entries(counts)
      .sort(([, a], [, b]) => b - a)
      .map(([name, times]) => `${name} ${times}`)
      .join(', ');
  const missing = allowed.filter((name) => summary.transitions[name] === undefined);
  return [
    `${summary.seeds} seeds, ${summary.steps} steps, ${Math.round(summary.simulatedHours)} simulated hours in ${Math.round(seconds)} s`,
    `servers: ${listed(summary.servers)}`,
    `faults: ${listed(summary.faults)}`,
    `transitions: ${listed(summary.transitions)}`,
    missing.length === 0
      ? `all ${allowed.length} transitions of the table were seen`
      : `not seen: ${missing.join(', ')}`,
  ];
}
