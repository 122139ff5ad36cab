// Mutants: the product without one guard. A scenario that fails for a mutant kills it; a guard
// whose mutant survives every scenario protects nothing that the simulation can show.
//
// A condition of a write matters only where it is the only one that refuses the write. So the
// search plays each scenario once, records the refusals, and tries the mutants of the conditions
// that decided.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type OtherGuard, otherGuards, recordConditions, stripGuard } from './guards.ts';
import { operations } from './operations/operations.ts';
import { createRandom } from './random.ts';
import { runOperation } from './scenarios/run-operation.ts';
import {
  everyRace,
  everyStepOfAll,
  nameOf,
  play,
  type Scenario,
  scenarioOf,
  seeds,
  withSimilar,
} from './scenarios/scenarios.ts';

/** Scenarios tried for one condition, per worker. */
const attemptsMax = 400;

export interface GuardResult {
  readonly guard: string;
  /** A scenario that fails for the mutant; none if the mutant survived. */
  readonly scenario?: string;
  readonly failure?: string;
  /** In how many scenarios the guard decided, or how many were tried. */
  readonly scenarios: number;
}

/** Scenarios that may kill the mutant of one guard. */
interface Candidates {
  readonly guard: string;
  readonly scenarios: readonly Scenario[];
}

/** The task of a worker. */
export type Task =
  | { readonly kind: 'play'; readonly scenarios: readonly Scenario[] }
  | { readonly kind: 'strip'; readonly guards: readonly Candidates[] }
  | {
      readonly kind: 'seek';
      readonly guards: readonly string[];
      readonly scenarios: readonly Scenario[];
    };

/** A message of a worker that searches. */
type SeekMessage =
  | { readonly kind: 'found'; readonly result: GuardResult }
  | { readonly kind: 'violation'; readonly scenario: string; readonly text: string }
  | { readonly kind: 'progress'; readonly done: number };

export interface Played {
  /** The scenarios in which each condition decided. */
  readonly decided: ReadonlyMap<string, Scenario[]>;
  readonly violations: readonly { readonly scenario: string; readonly message: string }[];
}

/** Plays the scenarios with all guards, and records which conditions decided. */
export async function playAll(scenarios: readonly Scenario[]): Promise<Played> {
  const decided = new Map<string, Scenario[]>();
  const violations: { scenario: string; message: string }[] = [];
  for (const scenario of scenarios) {
    const here = new Set<string>();
    const violation = await play(scenario, { strip: recordConditions(new Set(), here) });
    if (violation) violations.push({ scenario: nameOf(scenario), message: violation.message });
    for (const condition of here)
      decided.set(condition, [...(decided.get(condition) ?? []), scenario]);
  }
  return { decided, violations };
}

/** Plays the scenarios without the guard until one fails that passes with the guard. */
export async function tryWithout(
  guard: string,
  scenarios: readonly Scenario[],
): Promise<GuardResult> {
  for (const scenario of scenarios) {
    // Without the guard a row may be written that cannot be read.
    const failure = await play(scenario, { strip: stripGuard(guard) }).catch((error) => error);
    if (!failure || (await play(scenario))) continue;
    return {
      guard,
      scenario: nameOf(scenario),
      failure: String(failure.message),
      scenarios: scenarios.length,
    };
  }
  return { guard, scenarios: scenarios.length };
}

/**
 * Finds a scenario that kills each mutant: the known one, a similar one, or any other.
 *
 * @param known scenario by guard
 * @param sample plays every n-th race
 * @param onKilled called with each mutant as soon as a scenario kills it
 * @returns all guards
 */
export async function findGuards(
  known: Readonly<Record<string, string>>,
  sample: number,
  onKilled: (result: GuardResult) => void,
  say: (line: string) => void,
): Promise<readonly string[]> {
  const all = [...(await conditionsOfOperations()), ...otherGuards, ...Object.keys(known)];
  const guards = [...new Set(all)];
  const named = guards.filter((guard) => known[guard] !== undefined);
  const candidates = await Promise.all(
    named.map(async (guard) => ({
      guard,
      scenarios: await withSimilar(scenarioOf(known[guard] as string)),
    })),
  );
  const near = (await stripAtOnce(candidates)).filter(({ scenario }) => scenario !== undefined);
  near.forEach(onKilled);
  const left = guards.filter((guard) => !near.some((result) => result.guard === guard));
  say(`${near.length} of ${guards.length} mutants killed by their known scenario or a similar one`);
  if (left.length > 0) await findAnywhere(left, sample, onKilled, say);
  return guards;
}

/** Conditions of the writes of all operations without faults. */
export async function conditionsOfOperations(): Promise<Set<string>> {
  const conditions = new Set<string>();
  for (const operation of Object.keys(operations)) {
    await runOperation(operation, { strip: recordConditions(conditions, new Set()) });
  }
  return conditions;
}

/**
 * Searches all scenarios in a mixed order, so that the first attempts come from all operations.
 */
async function findAnywhere(
  guards: readonly string[],
  sample: number,
  onKilled: (result: GuardResult) => void,
  say: (line: string) => void,
): Promise<void> {
  const steps = await everyStepOfAll();
  const races = (await everyRace()).filter((_, index) => index % sample === 0);
  const scenarios = shuffled([...races, ...steps, ...seeds(1, 400)]);
  say(`${guards.join('; ')}: searching ${scenarios.length} scenarios`);
  const workers = availableParallelism();
  const open = new Set(guards);
  await Promise.all(
    Array.from({ length: workers }, (_, index) => {
      const share = scenarios.filter((_scenario, at) => at % workers === index);
      const worker = startWorker({ kind: 'seek', guards, scenarios: share });
      return listen<SeekMessage>(worker, (message) => {
        if (message.kind === 'violation')
          say(`with all guards: ${message.scenario}: ${message.text}`);
        if (message.kind === 'progress') say(`worker ${index}: ${message.done} of ${share.length}`);
        if (message.kind !== 'found' || !open.delete(message.result.guard)) return;
        onKilled(message.result);
      });
    }),
  );
}

/**
 * Searches the scenarios for one that kills the mutant of each guard.
 *
 * @param tell called for each mutant killed, each violation with all guards, and the progress
 */
export async function seek(
  guards: readonly string[],
  scenarios: readonly Scenario[],
  tell: (message: SeekMessage) => void,
): Promise<void> {
  const open = new Map(guards.map((guard) => [guard, 0]));
  // No refusal shows where these guards matter, so each scenario tries one of them.
  const others = () => otherGuards.filter((guard) => open.has(guard));
  for (const [index, scenario] of scenarios.entries()) {
    if (open.size === 0) return;
    if (index % 500 === 0) tell({ kind: 'progress', done: index });
    const decided = new Set<string>();
    const violation = await play(scenario, { strip: recordConditions(new Set(), decided) });
    if (violation) {
      tell({ kind: 'violation', scenario: nameOf(scenario), text: violation.message });
      continue;
    }
    const turn = others().filter((_, at, all) => at === index % all.length);
    for (const guard of [...decided, ...turn]) {
      const attempts = open.get(guard);
      if (attempts === undefined) continue;
      const failure = await play(scenario, { strip: stripGuard(guard) }).catch((error) => error);
      if (failure) {
        tell({
          kind: 'found',
          result: {
            guard,
            scenario: nameOf(scenario),
            failure: String(failure.message),
            scenarios: attempts,
          },
        });
      }
      if (failure || (attempts >= attemptsMax && !turn.includes(guard as OtherGuard)))
        open.delete(guard);
      else open.set(guard, attempts + 1);
    }
  }
}

async function stripAtOnce(guards: readonly Candidates[]): Promise<GuardResult[]> {
  const parts = await share<GuardResult[], Candidates>(guards, (each) => ({
    kind: 'strip',
    guards: each,
  }));
  return parts.flat();
}

export function playAllAtOnce(scenarios: readonly Scenario[]): Promise<Played[]> {
  return share<Played, Scenario>(scenarios, (each) => ({ kind: 'play', scenarios: each }));
}

/** Shuffles, always to the same order. */
function shuffled(scenarios: readonly Scenario[]): Scenario[] {
  const random = createRandom(1);
  return scenarios
    .map((scenario) => ({ scenario, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ scenario }) => scenario);
}

/** Splits the items among one worker per processor. */
function share<T, Item>(items: readonly Item[], task: (items: Item[]) => Task): Promise<T[]> {
  const workers = availableParallelism();
  return Promise.all(
    Array.from({ length: workers }, (_, index) =>
      runWorker<T>(task(items.filter((_item, at) => at % workers === index))),
    ),
  );
}

async function runWorker<T>(workerData: Task): Promise<T> {
  const answers: T[] = [];
  await listen<T>(startWorker(workerData), (answer) => answers.push(answer));
  return answers[0] as T;
}

function startWorker(workerData: Task): Worker {
  return new Worker(new URL('mutant-worker.ts', import.meta.url), { workerData });
}

function listen<T>(worker: Worker, onMessage: (message: T) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('message', onMessage);
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
}
