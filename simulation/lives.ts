// The lives that a cloud can have: one from a seed, where anything goes wrong; one where an operation is
// interrupted at one of its steps; one where it stalls there while something else happens.

import type { Strip } from './guards.ts';
import { type Interrupt, interruptions } from './interrupts.ts';
import { operations, runOperation } from './operations.ts';
import { meet, rivals } from './rivals.ts';
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

export type Life = Seed | Step | Race;

/** By which it can be lived again. */
export function nameOf(life: Life): string {
  if (life.kind === 'seed') return `seed/${life.seed}`;
  const { kind, operation, step, how } = life;
  return [kind, operation, step, how, ...(life.kind === 'race' ? [life.rival] : [])].join('/');
}

/** @throws RangeError for what is no life's name */
export function lifeOf(name: string): Life {
  const [kind, subject = '', step, manner, rival = ''] = name.split('/');
  if (kind === 'seed' && Number(subject) > 0) return { kind, seed: Number(subject) };
  const how = interruptions.find((each) => each === manner);
  if (operations[subject] && Number(step) > 0 && how) {
    const base = { operation: subject, step: Number(step), how };
    if (kind === 'step') return { kind, ...base };
    if (kind === 'race' && rivals[rival]) return { kind, ...base, rival };
  }
  throw new RangeError(`There is no life ${name}.`);
}

export async function liveOnce(
  life: Life,
  options: { readonly strip?: Strip; readonly trace?: ((line: string) => void) | undefined } = {},
): Promise<Violation | undefined> {
  if (life.kind === 'seed') return (await runSeed(life.seed, options)).violation;
  const { step, how } = life;
  const rival = life.kind === 'race' ? rivals[life.rival] : undefined;
  const interrupt: Interrupt = {
    step,
    how,
    ...(rival && { meanwhile: rival.act }),
    ...(rival?.lateMs && { lateMs: rival.lateMs }),
  };
  try {
    await runOperation(life.operation, { ...options, interrupt });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'Violation') throw error;
    return error as Violation;
  }
}

/** Each step of the operation, interrupted in each way that it can be. */
export async function everyStep(operation: string): Promise<Life[]> {
  return (await interruptedSteps(operation)).map((each) => ({ kind: 'step', ...each }));
}

/** Each step of each operation, late or arriving again when each of the others has happened. */
export async function everyRace(): Promise<Life[]> {
  const lives: Life[] = [];
  for (const operation of Object.keys(operations)) {
    const late = (await interruptedSteps(operation)).filter(({ how }) => isLate(how));
    for (const rival of Object.keys(rivals).filter((each) => meet(operation, each))) {
      lives.push(...late.map((each) => ({ kind: 'race', ...each, rival }) as const));
    }
  }
  return lives;
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
 * The life itself, and those like it: what another version of the product does at another step, it does
 * near by.
 */
export async function withThoseLike(life: Life): Promise<Life[]> {
  if (life.kind === 'seed') return [life, ...seeds(1, seedsBeside)];
  const { operation, how, step } = life;
  const steps = (await interruptedSteps(operation)).filter((each) => each.how === how);
  const nearest = steps
    .map((each) => ({ step: each.step, distance: Math.abs(each.step - step) }))
    .sort((a, b) => a.distance - b.distance);
  return [life, ...nearest.map((each) => ({ ...life, step: each.step }))];
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

export function seeds(from: number, count: number): Life[] {
  return numbers(count).map((number) => ({ kind: 'seed', seed: from - 1 + number }));
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
