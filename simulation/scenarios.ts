// The scenarios that a cloud can have: one from a seed, where anything goes wrong; one where an operation is
// interrupted at one of its steps; one where it stalls there while something else happens.

import { concurrentOperations, meet } from './concurrent-operations.ts';
import type { Strip } from './guards.ts';
import { type Interrupt, interruptions } from './interrupts.ts';
import { operations, runOperation } from './operations.ts';
import { runSeed } from './run.ts';
import type { Violation } from './violation.ts';

interface Seed {
  readonly kind: 'seed';
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
  readonly rival: string;
}

export type Scenario = Seed | Step | Race;

/** By which it can be lived again. */
export function nameOf(scenario: Scenario): string {
  if (scenario.kind === 'seed') return `seed/${scenario.seed}`;
  const { kind, operation, step, how } = scenario;
  return [kind, operation, step, how, ...(scenario.kind === 'race' ? [scenario.rival] : [])].join(
    '/',
  );
}

/** @throws RangeError for what is no scenario's name */
export function scenarioOf(name: string): Scenario {
  const [kind, subject = '', step, manner, rival = ''] = name.split('/');
  if (kind === 'seed' && Number(subject) > 0) return { kind, seed: Number(subject) };
  const how = interruptions.find((each) => each === manner);
  if (operations[subject] && Number(step) > 0 && how) {
    const base = { operation: subject, step: Number(step), how };
    if (kind === 'step') return { kind, ...base };
    if (kind === 'race' && concurrentOperations[rival]) return { kind, ...base, rival };
  }
  throw new RangeError(`There is no scenario ${name}.`);
}

export async function play(
  scenario: Scenario,
  options: { readonly strip?: Strip; readonly trace?: ((line: string) => void) | undefined } = {},
): Promise<Violation | undefined> {
  if (scenario.kind === 'seed') return (await runSeed(scenario.seed, options)).violation;
  const { step, how } = scenario;
  const rival = scenario.kind === 'race' ? concurrentOperations[scenario.rival] : undefined;
  const interrupt: Interrupt = {
    step,
    how,
    ...(rival && { meanwhile: rival.act }),
    ...(rival?.lateMs && { lateMs: rival.lateMs }),
  };
  try {
    await runOperation(scenario.operation, { ...options, interrupt });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'Violation') throw error;
    return error as Violation;
  }
}

/** Each step of the operation, interrupted in each way that it can be. */
export async function everyStep(operation: string): Promise<Scenario[]> {
  return (await interruptedSteps(operation)).map((each) => ({ kind: 'step', ...each }));
}

/** Each step of each operation, late or arriving again when each of the others has happened. */
export async function everyRace(): Promise<Scenario[]> {
  const scenarios: Scenario[] = [];
  for (const operation of Object.keys(operations)) {
    const late = (await interruptedSteps(operation)).filter(({ how }) => isLate(how));
    for (const rival of Object.keys(concurrentOperations).filter((each) => meet(operation, each))) {
      scenarios.push(...late.map((each) => ({ kind: 'race', ...each, rival }) as const));
    }
  }
  return scenarios;
}

async function interruptedSteps(operation: string): Promise<Omit<Step, 'kind'>[]> {
  const { steps } = await runOperation(operation);
  return steps.flatMap((name, index) =>
    interruptions
      .filter((how) => canBe(name, how))
      .map((how) => ({ operation, step: index + 1, how })),
  );
}

/** How far off a seed may be that does what this one did. */
const seedsBeside = 150;

/**
 * The scenario itself, and those like it: what another version of the product does at another step, it does
 * near by.
 */
export async function withSimilar(scenario: Scenario): Promise<Scenario[]> {
  if (scenario.kind === 'seed') return [scenario, ...seeds(1, seedsBeside)];
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

/** A transaction carries a token by which DynamoDB knows it again. */
function canBe(step: string, how: Interrupt['how']): boolean {
  if (how === 'conflicts') return /^DynamoDB (Put|Update|Delete|TransactWrite)$/.test(step);
  if (how.startsWith('writes')) return /^DynamoDB (Put|Update|Delete)$/.test(step);
  // What nobody else changes is the same later.
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
