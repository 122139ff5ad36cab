// `npm run test:deploy`: the synthesised template, deployed by the CDK into an emulator's
// CloudFormation, with the unmodified functions behind its gateway and event sources.
//
// --only <words>   plays the scenarios up to the last one with one of the words, separated by |,
//                  in its name: each needs what the earlier ones have left
// --back <checkout>  also goes back to the release in that checkout, and up again

import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { noteProgress } from '#local/demo/stillness.ts';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { skip } from '#test/support/suites/cannot-run.ts';
import type { Scenario } from './scenario.ts';
import { changes } from './scenarios/changes.ts';
import { dataKey } from './scenarios/data-key.ts';
import { firstDeployment } from './scenarios/first-deployment.ts';
import { releases, wayBack } from './scenarios/releases.ts';
import { removal } from './scenarios/removal.ts';
import { use } from './scenarios/use.ts';
import { openStage, type Stage } from './stage.ts';

const directory = join(import.meta.dirname, '../..', '.local', 'deploy-suite');
const all: readonly Scenario[] = [
  ...firstDeployment,
  ...use,
  ...back(),
  ...changes,
  ...dataKey,
  ...releases,
  ...removal,
];

const startedAt = performance.now();
/** The transcript has the rest. */
const noteMax = 2000;
const counts = { passed: 0, failed: 0 };
const closing: (() => Promise<void>)[] = [];

async function main(): Promise<void> {
  lockDirectory(directory);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  let stage: Stage;
  try {
    stage = await openStage(directory, closing);
  } catch (error) {
    skip('the suite test:deploy', error);
    return;
  }
  step(`${stage.emulator.name} and the fakes of OpenStack have started`);
  for (const scenario of chosen()) {
    // Each scenario needs the stack that the earlier ones have left.
    if (!(await play(scenario, stage))) break;
  }
}

function back(): readonly Scenario[] {
  const at = process.argv.indexOf('--back');
  return at < 0 ? [] : [wayBack(resolve(process.argv[at + 1] ?? ''))];
}

function chosen(): readonly Scenario[] {
  const at = process.argv.indexOf('--only');
  if (at < 0) return all;
  const words = (process.argv[at + 1] ?? '').split('|');
  const last = all.findLastIndex(({ name }) => words.some((word) => name.includes(word)));
  if (last < 0) throw new Error('No scenario has one of these words in its name.');
  return all.slice(0, last + 1);
}

async function play({ name, run }: Scenario, stage: Stage): Promise<boolean> {
  const from = performance.now();
  let note = '';
  let hasPassed = true;
  try {
    noteProgress();
    note = await run(stage);
  } catch (error) {
    hasPassed = false;
    note = (error instanceof Error ? error.message : String(error)).slice(0, noteMax);
  }
  const seconds = `${((performance.now() - from) / 1000).toFixed(1)} s`;
  console.log(`${hasPassed ? 'ok    ' : 'FAILED'} ${seconds.padStart(7)}  ${name}`);
  if (note) console.log(note.replaceAll(/^/gm, ' '.repeat(16)));
  counts[hasPassed ? 'passed' : 'failed'] += 1;
  return hasPassed;
}

function step(sentence: string): void {
  const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  console.log(`${seconds.padStart(14)}  ${sentence}`);
}

async function end(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void end().finally(() => process.exit(1)));
}

try {
  await main();
} catch (error) {
  counts.failed++;
  console.error(error);
} finally {
  await end();
}
step(`the transcript of the CDK is in ${join(directory, 'transcript.txt')}`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
