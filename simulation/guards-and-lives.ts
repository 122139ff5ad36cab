// For each guard of the product: a run that goes wrong without it. A guard without such a run protects
// nothing that can happen here.
//
// A condition of a write matters only in a run where it is the only one that refuses the write. So the
// search plays each run once with the refusals recorded, and tries the guards that decided at once.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type OtherGuard, otherGuards, recordConditions, stripGuard } from './guards.ts';
import {
  everyRace,
  everyStep,
  type Life,
  lifeOf,
  liveOnce,
  nameOf,
  seeds,
  withThoseLike,
} from './lives.ts';
import { operations, runOperation } from './operations.ts';
import { createRandom } from './random.ts';

/** For one condition, per worker. */
const attemptsMax = 400;

export interface GuardResult {
  readonly guard: string;
  /** Without the guard something that must hold does not. */
  readonly life?: string;
  readonly failure?: string;
  /** In how many lives it decided, or how many were tried. */
  readonly lives: number;
}

/** Where one guard may be missed. */
interface Candidates {
  readonly guard: string;
  readonly lives: readonly Life[];
}

/** What a worker is asked to do. */
export type Task =
  | { readonly kind: 'live'; readonly lives: readonly Life[] }
  | { readonly kind: 'strip'; readonly guards: readonly Candidates[] }
  | { readonly kind: 'seek'; readonly guards: readonly string[]; readonly lives: readonly Life[] };

/** What a worker that seeks says. */
export type SeekMessage =
  | { readonly kind: 'found'; readonly result: GuardResult }
  | { readonly kind: 'violation'; readonly life: string; readonly text: string }
  | { readonly kind: 'progress'; readonly done: number };

export interface Lived {
  /** By condition, where it decided. */
  readonly decided: ReadonlyMap<string, Life[]>;
  readonly violations: readonly { readonly life: string; readonly message: string }[];
}

/** Lives them all, and writes down which conditions decided. */
export async function liveAll(lives: readonly Life[]): Promise<Lived> {
  const decided = new Map<string, Life[]>();
  const violations: { life: string; message: string }[] = [];
  for (const life of lives) {
    const here = new Set<string>();
    const violation = await liveOnce(life, { strip: recordConditions(new Set(), here) });
    if (violation) violations.push({ life: nameOf(life), message: violation.message });
    for (const condition of here) decided.set(condition, [...(decided.get(condition) ?? []), life]);
  }
  return { decided, violations };
}

/** Lives without the guard until something that must hold does not, and with it does. */
export async function tryWithout(guard: string, lives: readonly Life[]): Promise<GuardResult> {
  for (const life of lives) {
    // Without it there may be rows that nothing can read.
    const failure = await liveOnce(life, { strip: stripGuard(guard) }).catch((error) => error);
    if (!failure || (await liveOnce(life))) continue;
    return { guard, life: nameOf(life), failure: String(failure.message), lives: lives.length };
  }
  return { guard, lives: lives.length };
}

/**
 * Finds a run for each guard: the known one, or one like it; else any.
 *
 * @param known by guard
 * @param sample every so many-th race is played
 * @param found called for each guard as soon as its run is known
 * @returns all guards
 */
export async function findGuards(
  known: Readonly<Record<string, string>>,
  sample: number,
  found: (result: GuardResult) => void,
  say: (line: string) => void,
): Promise<readonly string[]> {
  const all = [...(await conditionsOfOperations()), ...otherGuards, ...Object.keys(known)];
  const guards = [...new Set(all)];
  const named = guards.filter((guard) => known[guard] !== undefined);
  const candidates = await Promise.all(
    named.map(async (guard) => ({
      guard,
      lives: await withThoseLike(lifeOf(known[guard] as string)),
    })),
  );
  const near = (await stripAtOnce(candidates)).filter(({ life }) => life !== undefined);
  near.forEach(found);
  const left = guards.filter((guard) => !near.some((result) => result.guard === guard));
  say(`${near.length} of ${guards.length} guards are killed where they were, or near by`);
  if (left.length > 0) await findAnywhere(left, sample, found, say);
  return guards;
}

/** Conditions that the writes of the operations carry, where nothing goes wrong. */
export async function conditionsOfOperations(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const operation of Object.keys(operations)) {
    await runOperation(operation, { strip: recordConditions(found, new Set()) });
  }
  return found;
}

/** Plays all runs in a mixed order, so that the first attempts for a guard come from all over. */
async function findAnywhere(
  guards: readonly string[],
  sample: number,
  found: (result: GuardResult) => void,
  say: (line: string) => void,
): Promise<void> {
  const steps = (await Promise.all(Object.keys(operations).map(everyStep))).flat();
  const races = (await everyRace()).filter((_, index) => index % sample === 0);
  const lives = shuffled([...races, ...steps, ...seeds(1, 400)]);
  say(`${guards.join('; ')}: sought in ${lives.length} runs`);
  const workers = availableParallelism();
  const open = new Set(guards);
  await Promise.all(
    Array.from({ length: workers }, (_, index) => {
      const share = lives.filter((_life, at) => at % workers === index);
      const worker = startWorker({ kind: 'seek', guards, lives: share });
      return listen<SeekMessage>(worker, (message) => {
        if (message.kind === 'violation') say(`with all guards: ${message.life}: ${message.text}`);
        if (message.kind === 'progress') say(`worker ${index}: ${message.done} of ${share.length}`);
        if (message.kind !== 'found' || !open.delete(message.result.guard)) return;
        found(message.result);
      });
    }),
  );
}

/**
 * Looks for the guards in the lives it is given, and tells of each as soon as it has one.
 *
 * @param tell called with every guard found, every violation with all guards, and the progress
 */
export async function seek(
  guards: readonly string[],
  lives: readonly Life[],
  tell: (message: SeekMessage) => void,
): Promise<void> {
  const open = new Map(guards.map((guard) => [guard, 0]));
  // No refusal shows where they matter: each run tries one of them.
  const others = () => otherGuards.filter((guard) => open.has(guard));
  for (const [index, life] of lives.entries()) {
    if (open.size === 0) return;
    if (index % 500 === 0) tell({ kind: 'progress', done: index });
    const decided = new Set<string>();
    const violation = await liveOnce(life, { strip: recordConditions(new Set(), decided) });
    if (violation) {
      tell({ kind: 'violation', life: nameOf(life), text: violation.message });
      continue;
    }
    const turn = others().filter((_, at, all) => at === index % all.length);
    for (const guard of [...decided, ...turn]) {
      const attempts = open.get(guard);
      if (attempts === undefined) continue;
      const failure = await liveOnce(life, { strip: stripGuard(guard) }).catch((error) => error);
      if (failure) {
        tell({
          kind: 'found',
          result: { guard, life: nameOf(life), failure: String(failure.message), lives: attempts },
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

export function liveAllAtOnce(lives: readonly Life[]): Promise<Lived[]> {
  return share<Lived, Life>(lives, (each) => ({ kind: 'live', lives: each }));
}

/** The same order each time. */
function shuffled(lives: readonly Life[]): Life[] {
  const random = createRandom(1);
  return lives
    .map((life) => ({ life, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ life }) => life);
}

/** Among as many workers as there are processors. */
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
  return new Worker(new URL('guard-worker.ts', import.meta.url), { workerData });
}

function listen<T>(worker: Worker, hear: (message: T) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.on('message', hear);
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
}
