import type { Stage } from './stage.ts';

export interface Scenario {
  /** The fact that the scenario proves. */
  readonly name: string;
  /** @throws Error if the fact is not true */
  run(stage: Stage): Promise<void>;
}

/** Scenarios about one thing, in their order. */
export interface Group {
  readonly name: string;
  readonly scenarios: readonly Scenario[];
}

/** Against what would never end: a scenario's own waits end with what they wait for. */
const scenarioMsMax = 120_000;

/** Returns the reason of its failure, if it fails, and what its pages did that no page may do. */
export async function play({ run }: Scenario, stage: Stage): Promise<string | undefined> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`The scenario has not ended within ${scenarioMsMax / 1000} s.`)),
    scenarioMsMax,
  );
  const faults: string[] = [];
  try {
    await Promise.race([run(stage), late]);
  } catch (error) {
    faults.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    await stage.picture().catch(() => undefined);
  } finally {
    clearTimeout(timer);
    faults.push(...(await stage.clear()));
  }
  return faults.length > 0 ? faults.join('\n') : undefined;
}
