// For each guard of the product: which life misses it. One that none misses protects nothing that can
// happen here.
//
// A condition is missed only where it is the one that refuses a write. So where it is not known which life
// does, all are lived once with the conditions that decide written down, and each condition is then taken
// away in those lives only.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { otherGuards, recordConditions, stripGuard } from './guards.ts';
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

/** Where one guard may be missed. */
interface Candidates {
  readonly guard: string;
  readonly lives: readonly Life[];
}

/** What a worker is asked to do. */
export type Task =
  | { readonly kind: 'live'; readonly lives: readonly Life[] }
  | { readonly kind: 'strip'; readonly guards: readonly Candidates[] };

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
 * By guard, a life that misses it: the one that is known, or one like it; else, whatever life there is.
 *
 * @param known by guard
 * @param sample of so many races, one is lived
 */
export async function findGuards(
  say: (line: string) => void,
  known: Readonly<Record<string, string>>,
  sample = 1,
): Promise<GuardResult[]> {
  const all = [...(await conditionsOfOperations()), ...otherGuards, ...Object.keys(known)];
  const guards = [...new Set(all)];
  const named = guards.filter((guard) => known[guard] !== undefined);
  const candidates = await Promise.all(
    named.map(async (guard) => ({
      guard,
      lives: await withThoseLike(lifeOf(known[guard] as string)),
    })),
  );
  const found = (await stripAtOnce(candidates)).filter(({ life }) => life !== undefined);
  const left = guards.filter((guard) => !found.some((result) => result.guard === guard));
  say(`${found.length} of ${guards.length} guards are missed where they were, or near by`);
  const others = left.length > 0 ? await findAnywhere(say, left, sample) : [];
  return [...found, ...others].sort((a, b) => (a.guard < b.guard ? -1 : 1));
}

/** Conditions that the writes of the operations carry, where nothing goes wrong. */
export async function conditionsOfOperations(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const operation of Object.keys(operations)) {
    await runOperation(operation, { strip: recordConditions(found, new Set()) });
  }
  return found;
}

async function findAnywhere(
  say: (line: string) => void,
  guards: readonly string[],
  sample: number,
): Promise<GuardResult[]> {
  const steps = (await Promise.all(Object.keys(operations).map(everyStep))).flat();
  const races = (await everyRace()).filter((_, index) => index % sample === 0);
  const lives = [...steps, ...races, ...seeds(1, 400)];
  say(`${guards.join('; ')}: sought in ${lives.length} lives`);
  const parts = await liveAllAtOnce(lives);
  for (const { life, message } of parts.flatMap(({ violations }) => violations)) {
    say(`with all guards: ${life}: ${message}`);
  }
  const usual = [...seeds(1, 150), ...steps];
  return stripAtOnce(
    guards.map((guard) => {
      const where = parts.flatMap(({ decided }) => decided.get(guard) ?? []);
      const isOther = otherGuards.some((other) => other === guard);
      return { guard, lives: isOther ? usual : spread(where) };
    }),
  );
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
