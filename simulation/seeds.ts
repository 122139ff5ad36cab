// Runs many seeds, split among one worker per processor.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SeedKind } from './scenarios/scenarios.ts';
import { emptySummary, merge, type Summary } from './summary.ts';

export async function runManySeeds(
  from: number,
  count: number,
  kind: SeedKind = 'seed',
): Promise<Summary> {
  const workers = availableParallelism();
  const summary = emptySummary();
  const parts = Array.from({ length: workers }, (_, index) =>
    runWorker({ from: from + index, to: from + count, step: workers, kind }),
  );
  for (const part of await Promise.all(parts)) merge(summary, part);
  return summary;
}

export interface Share {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly kind: SeedKind;
}

function runWorker(workerData: Share): Promise<Summary> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('seeds-worker.ts', import.meta.url), { workerData });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
