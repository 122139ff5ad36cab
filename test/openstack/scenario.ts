import type { Outcome } from '#test/support/suites/scenario-suite.ts';
import type { Stage } from './stage.ts';

export interface Scenario {
  /** The fact that the scenario proves. */
  readonly name: string;
  /** Returns a note, or an empty text. @throws Error if the fact is not true */
  run(stage: Stage): Promise<string>;
}

export async function play(scenario: Scenario, stage: Stage): Promise<Outcome> {
  const startedAt = performance.now();
  const end = (hasPassed: boolean, note: string): Outcome => ({
    name: scenario.name,
    seconds: (performance.now() - startedAt) / 1000,
    note,
    hasPassed,
  });
  try {
    return end(true, await scenario.run(stage));
  } catch (error) {
    return end(false, error instanceof Error ? error.message : String(error));
  } finally {
    stage.setFaults();
  }
}
