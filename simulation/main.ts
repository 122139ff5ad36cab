// npm run test:simulation -- [option]
//
//                        10,000 seeds, and a tenth of them wide; exit code 1 if any fails
// --seeds=500            number of seeds, from --from=1
// --steps                each step of each operation, with each interrupt there
// --races                each step of each operation beside each concurrent one
// --scenario=seed/4711   replays one scenario; --trace prints each effect
// --guards               finds a scenario that kills each mutant, for guards.json;
//                        --sample=6 plays every sixth race only
//
// A scenario that fails is written into regressions.json, and npm run test:all replays it.

import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { showHelp } from '#core/command-line/arguments.ts';
import { findGuards, type GuardResult, playAllAtOnce } from './mutants.ts';
import {
  everyRace,
  everyStepOfAll,
  play,
  type Scenario,
  scenarioOf,
} from './scenarios/scenarios.ts';
import { runManySeeds } from './seeds.ts';
import { describeSummary } from './summary.ts';

const regressionsFile = new URL('regressions.json', import.meta.url);
const guardsFile = new URL('guards.json', import.meta.url);

const usage = `npm run test:simulation -- [option]

                          10,000 seeds, and a tenth of them wide; exit code 1 if any fails
--seeds=500 [--from=1]    number of seeds
--steps                   each step of each operation, with each interrupt there
--races                   each step of each operation, beside each concurrent operation
--scenario=seed/4711      replays one scenario; --trace prints each effect
--guards [--sample=6]     which scenario kills which mutant, into guards.json`;

showHelp(usage);
const { values } = parseArgs({
  options: {
    scenario: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    steps: { type: 'boolean', default: false },
    races: { type: 'boolean', default: false },
    guards: { type: 'boolean', default: false },
    sample: { type: 'string', default: '1' },
  },
});

interface Failure {
  readonly scenario: string;
  readonly message: string;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<boolean> {
  if (values.guards) return writeGuards();
  const startedAt = Date.now();
  const { scenarios, failures } = await chosen(startedAt);
  for (const { scenario, message } of failures) {
    say(`${scenario}: ${message}`);
    say(`  replay: npm run test:simulation -- --scenario='${scenario}' --trace`);
  }
  keep(failures);
  say(`${Math.round((Date.now() - startedAt) / 1000)} s`);
  say(`${scenarios - failures.length} passed, ${failures.length} failed`);
  return failures.length === 0;
}

async function chosen(startedAt: number) {
  if (values.scenario) return replay(values.scenario);
  if (values.steps) return playEach(await everyStepOfAll());
  if (values.races) return playEach(await everyRace());
  return manySeeds(startedAt);
}

async function replay(scenario: string) {
  const violation = await play(scenarioOf(scenario), { trace: values.trace ? say : undefined });
  return { scenarios: 1, failures: violation ? [{ scenario, message: violation.message }] : [] };
}

async function playEach(scenarios: readonly Scenario[]) {
  const parts = await playAllAtOnce(scenarios);
  return { scenarios: scenarios.length, failures: parts.flatMap(({ violations }) => violations) };
}

async function manySeeds(startedAt: number) {
  const [from, count] = [Number(values.from), Number(values.seeds ?? 10_000)];
  const shares = { seed: count, wide: Math.ceil(count / 10) } as const;
  let scenarios = 0;
  const failures: Failure[] = [];
  for (const kind of ['seed', 'wide'] as const) {
    const summary = await runManySeeds(from, shares[kind], kind);
    say(kind);
    for (const line of describeSummary(summary, (Date.now() - startedAt) / 1000)) say(line);
    scenarios += summary.seeds;
    failures.push(
      ...summary.failures.map(({ seed, message }) => ({ scenario: `${kind}/${seed}`, message })),
    );
  }
  return { scenarios, failures };
}

function keep(failures: readonly Failure[]): void {
  if (failures.length === 0) return;
  const stored = JSON.parse(readFileSync(regressionsFile, 'utf8')) as string[];
  const all = new Set([...stored, ...failures.map(({ scenario }) => scenario)]);
  writeFileSync(regressionsFile, `${JSON.stringify([...all].sort(), null, 2)}\n`);
}

function knownGuards(): Record<string, string> {
  return JSON.parse(readFileSync(guardsFile, 'utf8'));
}

/** Writes the table after each find, so that an interrupted search keeps its results. */
async function writeGuards(): Promise<boolean> {
  const expected = knownGuards();
  const killers: Record<string, string> = {};
  const write = (table: Readonly<Record<string, string>>) => {
    const sorted = Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));
    writeFileSync(guardsFile, `${JSON.stringify(sorted, null, 2)}\n`);
  };
  const keepFound = ({ guard, scenario, failure = '' }: GuardResult) => {
    if (scenario === undefined) return;
    say(`${guard}  |  ${scenario}  |  ${failure}`);
    killers[guard] = scenario;
    write({ ...expected, ...killers });
  };
  const guards = await findGuards(expected, Number(values.sample), keepFound, say);
  write(killers);
  const survivors = guards.filter((guard) => killers[guard] === undefined);
  for (const guard of survivors) say(`no scenario kills the mutant without ${guard}`);
  say(`${guards.length - survivors.length} of ${guards.length} mutants killed`);
  return survivors.length === 0;
}

process.exitCode = (await main()) ? 0 : 1;
