import type { Stage } from './stage.ts';

export interface Scenario {
  /** The sentence that it proves. */
  readonly name: string;
  /** What it saw, or nothing where that it held says all. @throws where the sentence is not true */
  run(stage: Stage): Promise<string>;
}

export interface Outcome {
  readonly name: string;
  readonly seconds: number;
  /** What it saw, or the reason of its failure. */
  readonly note: string;
  readonly hasPassed: boolean;
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

export function printOutcome({ name, seconds, note, hasPassed }: Outcome): void {
  const mark = hasPassed ? 'ok    ' : 'FAILED';
  console.log(`${mark} ${`${seconds.toFixed(1)} s`.padStart(7)}  ${name}`);
  if (note) console.log(note.replaceAll(/^/gm, ' '.repeat(16)));
}
