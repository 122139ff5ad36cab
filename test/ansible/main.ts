// `npm run test:ansible`: the roles of ansible/ are clean for ansible-lint, and converge, change
// nothing twice, upgrade and remove on this machine, with copies of the system's folders.
//
// --only <words>   plays the scenarios with one of the words, separated by |, in their names

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { skip } from '#test/support/suites/cannot-run.ts';
import {
  buildPackages,
  installAnsible,
  isIsolated,
  type Machine,
  refuseOtherMachines,
  runIsolated,
} from './machine.ts';
import { agentScenarios } from './scenarios/agent.ts';
import { archiveScenarios } from './scenarios/archive.ts';
import { endpointScenarios } from './scenarios/endpoint.ts';
import { lintScenarios } from './scenarios/lint.ts';

const only = process.argv.indexOf('--only');
const words = only < 0 ? [''] : (process.argv[only + 1] ?? '').split('|');
const directory = join(import.meta.dirname, '../..', '.local', 'ansible-suite');

async function main(): Promise<number> {
  if (isIsolated) return playAll();
  lockDirectory(directory);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  try {
    refuseOtherMachines(directory);
    installAnsible();
  } catch (error) {
    skip('the suite test:ansible', error);
    console.log('0 passed, 0 failed');
    return 0;
  }
  return runIsolated(directory);
}

async function playAll(): Promise<number> {
  const machine: Machine = { programs: installAnsible(), ...buildPackages(directory) };
  const stage = { programs: machine.programs, directory };
  const counts = { passed: 0, failed: 0 };
  const all = [
    ...lintScenarios(stage),
    ...endpointScenarios(stage),
    ...agentScenarios(stage, machine),
    ...archiveScenarios(stage, machine),
  ].filter(({ name }) => words.some((word) => name.includes(word)));
  if (all.length === 0) throw new Error('No scenario has one of these words in its name.');
  for (const { name, run } of all) {
    const from = performance.now();
    let note = '';
    try {
      await run();
    } catch (error) {
      note = error instanceof Error ? error.message : String(error);
    }
    const seconds = `${((performance.now() - from) / 1000).toFixed(1)} s`.padStart(7);
    console.log(`${note ? 'FAILED' : 'ok    '} ${seconds}  ${name}`);
    if (note) console.log(note.slice(-3000).replaceAll(/^/gm, ' '.repeat(16)));
    counts[note ? 'failed' : 'passed'] += 1;
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  return counts.failed > 0 ? 1 : 0;
}

process.exitCode = await main();
