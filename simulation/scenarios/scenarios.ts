// The scenarios: one from a seed, with random faults; one operation with an interrupt at one of
// its steps; one operation that stalls there while a concurrent operation happens.

import type { Strip } from '#simulation/guards.ts';
import { concurrentOperations, meet } from '#simulation/operations/concurrent-operations.ts';
import { operations } from '#simulation/operations/operations.ts';
import type { Violation } from '#simulation/violation.ts';
import { type Interrupt, interruptions } from '#simulation/world/interrupts.ts';
import { runSeed } from './run.ts';
import { runOperation } from './run-operation.ts';

/** `wide`: with what wide.ts adds. */
export type SeedKind = 'seed' | 'wide';

interface Seed {
  readonly kind: SeedKind;
  readonly seed: number;
}

interface Step {
  readonly kind: 'step';
  readonly operation: string;
  readonly step: number;
  readonly how: Interrupt['how'];
}

interface Race {
  readonly kind: 'race';
  readonly operation: string;
  readonly step: number;
  readonly how: Interrupt['how'];
  readonly concurrent: string;
}

export type Scenario = Seed | Step | Race;

/** The name by which the scenario can be replayed. */
export function nameOf(scenario: Scenario): string {
  if ('seed' in scenario) return `${scenario.kind}/${scenario.seed}`;
  const { kind, operation, step, how } = scenario;
  const more = scenario.kind === 'race' ? [scenario.concurrent] : [];
  return [kind, operation, step, how, ...more].join('/');
}

/** @throws RangeError for a name that is not a scenario's */
export function scenarioOf(name: string): Scenario {
  const [kind, subject = '', step, manner, concurrent = ''] = name.split('/');
  if ((kind === 'seed' || kind === 'wide') && Number(subject) > 0) {
    return { kind, seed: Number(subject) };
  }
  const how = interruptions.find((each) => each === manner);
  if (operations[subject] && Number(step) > 0 && how) {
    const base = { operation: subject, step: Number(step), how };
    if (kind === 'step') return { kind, ...base };
    if (kind === 'race' && concurrentOperations[concurrent]) return { kind, ...base, concurrent };
  }
  throw new RangeError(`Unknown scenario: ${name}`);
}

export async function play(
  scenario: Scenario,
  options: { readonly strip?: Strip; readonly trace?: ((line: string) => void) | undefined } = {},
): Promise<Violation | undefined> {
  if ('seed' in scenario) {
    const isWide = scenario.kind === 'wide';
    return (await runSeed(scenario.seed, { ...options, isWide })).violation;
  }
  const { step, how } = scenario;
  const concurrent =
    scenario.kind === 'race' ? concurrentOperations[scenario.concurrent] : undefined;
  const interrupt: Interrupt = {
    step,
    how,
    ...(concurrent && { meanwhile: concurrent.act }),
    ...(concurrent?.lateMs && { lateMs: concurrent.lateMs }),
  };
  try {
    const { quiescenceMs = 0 } = concurrent ?? {};
    await runOperation(scenario.operation, { ...options, interrupt, quiescenceMs });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'Violation') throw error;
    return error as Violation;
  }
}

/** Each step of the operation with each interrupt that applies to it. */
export async function everyStep(operation: string): Promise<Scenario[]> {
  return (await interruptedSteps(operation)).map((each) => ({ kind: 'step', ...each }));
}

export async function everyStepOfAll(): Promise<Scenario[]> {
  return (await Promise.all(Object.keys(operations).map(everyStep))).flat();
}

/** Each step of each operation, late, beside each concurrent operation that it can meet. */
export async function everyRace(): Promise<Scenario[]> {
  const scenarios: Scenario[] = [];
  for (const operation of Object.keys(operations)) {
    const late = (await interruptedSteps(operation)).filter(({ how }) => isLate(how));
    const others = Object.keys(concurrentOperations).filter((each) => meet(operation, each));
    for (const concurrent of others) {
      scenarios.push(...late.map((each) => ({ kind: 'race', ...each, concurrent }) as const));
    }
  }
  return scenarios;
}

async function interruptedSteps(operation: string): Promise<Omit<Step, 'kind'>[]> {
  const { steps } = await runOperation(operation);
  return steps.flatMap((name, index) =>
    interruptions
      .filter((how) => canBe(name, how) && !isWithinReads(steps, index))
      .map((how) => ({ operation, step: index + 1, how })),
  );
}

/**
 * Whether the step is a read in the middle of a run of the same read, such as the sweep's query of
 * each shard. Between two reads nothing changes, so the first two and the last stand for all.
 */
function isWithinReads(steps: readonly string[], index: number): boolean {
  const name = steps[index] ?? '';
  if (!/^(DynamoDB (Get|Query|BatchGet)|device read)$/.test(name)) return false;
  return [index - 2, index - 1, index + 1].every((each) => steps[each] === name);
}

/** How many seeds to try in place of one that no longer fails. */
const similarSeeds = 150;

/**
 * The scenario and similar ones. A changed product may take the same step under another number, so
 * the similar scenarios interrupt the steps near by.
 */
export async function withSimilar(scenario: Scenario): Promise<Scenario[]> {
  if ('seed' in scenario) {
    const { kind } = scenario;
    return [scenario, ...numbers(similarSeeds).map((seed) => ({ kind, seed }))];
  }
  const { operation, how, step } = scenario;
  const steps = (await interruptedSteps(operation)).filter((each) => each.how === how);
  const nearest = steps
    .map((each) => ({ step: each.step, distance: Math.abs(each.step - step) }))
    .sort((a, b) => a.distance - b.distance);
  return [scenario, ...nearest.map((each) => ({ ...scenario, step: each.step }))];
}

function isLate(how: Interrupt['how']): boolean {
  return how === 'stalls' || how === 'writes again';
}

/**
 * What changes nothing. A process that dies between two of its effects leaves the same world
 * wherever it dies, so the effects alone are interrupted by deaths.
 */
const reads =
  /^(DynamoDB (Get|Query|BatchGet)|(placement|compute|Keystone|Glance|S3) GET|(device|disk) read)/;

/** DynamoDB recognizes a repeated transaction by its token, so a transaction is not sent twice. */
function canBe(step: string, how: Interrupt['how']): boolean {
  if (how.startsWith('dies')) return !reads.test(step);
  if (how === 'conflicts') return /^DynamoDB (Put|Update|Delete|TransactWrite)$/.test(step);
  if (how.startsWith('writes')) return /^DynamoDB (Put|Update|Delete)$/.test(step);
  // A step that reads what no other process writes gives the same result later.
  return (
    how !== 'stalls' ||
    !/^(device read|disk read|Keystone|Glance|MQTT [cs]|placement PUT .(traits|resource_c))/.test(
      step,
    )
  );
}

export function seeds(from: number, count: number): Scenario[] {
  return numbers(count).map((number) => ({ kind: 'seed', seed: from - 1 + number }));
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
