// For each guard of the product: which life misses it. One that none misses protects nothing that can
// happen here.
//
// A condition is missed only where it is the one that refuses a write. So all lives are lived once with
// the conditions that decide written down, and each condition is then taken away in those lives only.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { otherGuards, recordConditions, stripGuard } from './guards.ts';
import { everyRace, everyStep, type Life, liveOnce, nameOf, seeds } from './lives.ts';
import { operations } from './operations.ts';

/** Of one guard, before it is given up. */
const attemptsMax = 400;

export interface GuardResult {
  readonly guard: string;
  /** Without the guard something that must hold does not. */
  readonly life?: string;
  readonly failure?: string;
  /** In how many lives it decided, or how many were tried. */
  readonly lives: number;
}

/** What a worker is asked to do. */
export type Task =
  | { readonly kind: 'live'; readonly lives: readonly Life[] }
  | {
      readonly kind: 'strip';
      readonly guards: readonly { readonly guard: string; readonly lives: readonly Life[] }[];
    };

export interface Lived {
  readonly conditions: ReadonlySet<string>;
  /** By condition, where it decided. */
  readonly decided: ReadonlyMap<string, Life[]>;
  readonly violations: readonly { readonly life: string; readonly message: string }[];
}

/** Lives them all, and writes down which conditions decided. */
export async function liveAll(lives: readonly Life[]): Promise<Lived> {
  const conditions = new Set<string>();
  const decided = new Map<string, Life[]>();
  const violations: { life: string; message: string }[] = [];
  for (const life of lives) {
    const here = new Set<string>();
    const violation = await liveOnce(life, { strip: recordConditions(conditions, here) });
    if (violation) violations.push({ life: nameOf(life), message: violation.message });
    for (const condition of here) decided.set(condition, [...(decided.get(condition) ?? []), life]);
  }
  return { conditions, decided, violations };
}

/** Lives without the guard until something that must hold does not. */
export async function tryWithout(guard: string, lives: readonly Life[]): Promise<GuardResult> {
  for (const life of lives) {
    // Without it there may be rows that nothing can read.
    const failure = await liveOnce(life, { strip: stripGuard(guard) }).catch((error) => error);
    if (!failure) continue;
    return { guard, life: nameOf(life), failure: String(failure.message), lives: lives.length };
  }
  return { guard, lives: lives.length };
}

/** @returns by guard, the first life that misses it */
export async function findGuards(
  say: (line: string) => void,
  seedsMax: number,
): Promise<GuardResult[]> {
  const steps = (await Promise.all(Object.keys(operations).map(everyStep))).flat();
  const lives = [...steps, ...(await everyRace()), ...seeds(1, seedsMax)];
  say(`${lives.length} lives`);
  const parts = await liveAllAtOnce(lives);
  const decided = new Map<string, Life[]>();
  for (const { conditions } of parts) for (const name of conditions) decided.set(name, []);
  for (const part of parts) {
    for (const [name, where] of part.decided) decided.get(name)?.push(...where);
    for (const { life, message } of part.violations) say(`with all guards: ${life}: ${message}`);
  }
  const guards = [...decided].sort().map(([guard, where]) => ({ guard, lives: spread(where) }));
  const usual = [...seeds(1, Math.min(seedsMax, 150)), ...steps];
  const others = otherGuards.map((guard) => ({ guard, lives: usual }));
  const results = await share<GuardResult[], (typeof guards)[number]>(
    [...guards, ...others],
    (each) => ({ kind: 'strip', guards: each }),
  );
  return results.flat().sort((a, b) => (a.guard < b.guard ? -1 : 1));
}

export function liveAllAtOnce(lives: readonly Life[]): Promise<Lived[]> {
  return share<Lived, Life>(lives, (each) => ({ kind: 'live', lives: each }));
}

/** As many as are tried, from all over. */
function spread(lives: readonly Life[]): Life[] {
  const stride = Math.max(1, lives.length / attemptsMax);
  return Array.from(
    { length: Math.min(lives.length, attemptsMax) },
    (_, index) => lives[Math.floor(index * stride)] as Life,
  );
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

function runWorker<T>(workerData: Task): Promise<T> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('guard-worker.ts', import.meta.url), { workerData });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
