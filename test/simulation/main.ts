// npm run test:simulation                      10,000 seeds; ends with 1 if any fails
// npm run test:simulation -- --seeds=500       so many, --from=1 on
// npm run test:simulation -- --seed=4711       one, again; with --trace each of its effects
// npm run test:simulation -- --guards          which seeds miss which guard
//
// A seed that fails is written into regressions.json; npm test runs those again.

import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { findGuards } from './guards-and-lives.ts';
import { runSeed } from './run.ts';
import { addOutcome, describeSummary, emptySummary, merge, type Summary } from './summary.ts';

const regressionsFile = new URL('regressions.json', import.meta.url);

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    guards: { type: 'boolean', default: false },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<boolean> {
  const startedAt = Date.now();
  if (values.guards) return printGuards(Number(values.seeds ?? 400));
  const summary = values.seed ? await runOne(Number(values.seed)) : await runMany();
  for (const line of describeSummary(summary, (Date.now() - startedAt) / 1000)) say(line);
  keep(summary);
  const { seeds, failures } = summary;
  say(`${seeds - failures.length} passed, ${failures.length} failed`);
  return failures.length === 0;
}

async function printGuards(seedsMax: number): Promise<boolean> {
  const results = await findGuards(say, seedsMax);
  for (const { guard, life, failure, lives } of results) {
    say(
      `${String(lives).padStart(5)}  ${guard}  |  ${life ?? 'NOT MISSED'}  |  ${failure?.slice(0, 110) ?? ''}`,
    );
  }
  const unmissed = results.filter(({ life }) => life === undefined).length;
  say(`${results.length} guards, of which ${unmissed} are missed by no life`);
  return unmissed === 0;
}

async function runOne(seed: number): Promise<Summary> {
  const summary = emptySummary();
  addOutcome(summary, await runSeed(seed, { trace: values.trace ? say : undefined }));
  return summary;
}

async function runMany(): Promise<Summary> {
  const from = Number(values.from);
  const to = from + Number(values.seeds ?? 10_000);
  const workers = availableParallelism();
  const summary = emptySummary();
  const parts = Array.from({ length: workers }, (_, index) =>
    runWorker({ from: from + index, to, step: workers }),
  );
  for (const part of await Promise.all(parts)) merge(summary, part);
  return summary;
}

function runWorker(workerData: { from: number; to: number; step: number }): Promise<Summary> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

function keep({ failures }: Summary): void {
  if (failures.length === 0) return;
  const known = JSON.parse(readFileSync(regressionsFile, 'utf8')) as number[];
  const all = [...new Set([...known, ...failures.map(({ seed }) => seed)])].sort((a, b) => a - b);
  writeFileSync(regressionsFile, `${JSON.stringify(all)}\n`);
}

process.exitCode = (await main()) ? 0 : 1;
