// A worker that runs its share of the seeds and returns the summary.

import { parentPort, workerData } from 'node:worker_threads';
import { runSeed } from './scenarios/run.ts';
import type { Share } from './seeds.ts';
import { addOutcome, emptySummary } from './summary.ts';

const { from, to, step, kind } = workerData as Share;
const summary = emptySummary();
for (let seed = from; seed < to; seed += step) {
  addOutcome(summary, await runSeed(seed, { isWide: kind === 'wide' }));
}
parentPort?.postMessage(summary);
