// For each guard of the product: how many seeds fail without it. One that none misses protects nothing
// that is simulated.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { otherGuards, recordConditions, stripGuard } from './guards.ts';
import { runSeed } from './run.ts';

/** Enough seeds to meet every write. */
const recordedSeeds = 60;

export interface GuardResult {
  readonly guard: string;
  /** Until the first failure. */
  readonly seeds: number;
  readonly failure?: string;
}

export async function findGuards(): Promise<string[]> {
  const conditions = new Set<string>();
  for (let seed = 1; seed <= recordedSeeds; seed += 1) {
    await runSeed(seed, { strip: recordConditions(conditions) });
  }
  return [...[...conditions].sort(), ...otherGuards];
}

/** Lives without the guard until something that must hold does not. */
export async function tryWithout(guard: string, seedsMax: number): Promise<GuardResult> {
  for (let seed = 1; seed <= seedsMax; seed += 1) {
    const { violation } = await runSeed(seed, { strip: stripGuard(guard) });
    if (violation) return { guard, seeds: seed, failure: violation.message };
  }
  return { guard, seeds: seedsMax };
}

/** @returns whether every guard is missed by some seed */
export async function printGuards(say: (line: string) => void, seedsMax: number): Promise<boolean> {
  const guards = await findGuards();
  const workers = availableParallelism();
  let unmissed = 0;
  const tell = ({ guard, seeds, failure }: GuardResult) => {
    if (failure === undefined) unmissed += 1;
    say(`${String(seeds).padStart(5)}  ${guard}  |  ${failure?.slice(0, 110) ?? 'NOT MISSED'}`);
  };
  await Promise.all(
    Array.from({ length: workers }, (_, index) => {
      const own = guards.filter((_guard, at) => at % workers === index);
      return runWorker({ guards: own, seedsMax }, tell);
    }),
  );
  say(`${guards.length} guards, of which ${unmissed} are missed by no seed`);
  return unmissed === 0;
}

function runWorker(workerData: object, tell: (result: GuardResult) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('guard-worker.ts', import.meta.url), { workerData });
    worker.on('message', tell);
    worker.once('exit', () => resolve());
    worker.once('error', reject);
  });
}
