import type { Stage } from './stage.ts';

export interface Scenario {
  /** The fact that the scenario proves. */
  readonly name: string;
  /** Returns a note, or an empty text. @throws Error if the fact is not true */
  run(stage: Stage): Promise<string>;
}
