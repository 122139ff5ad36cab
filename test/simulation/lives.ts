// The lives that a cloud can have: one from a seed, where anything goes wrong; one where an operation is
// interrupted at one of its steps; one where it stalls there while something else happens.

import type { Strip } from './guards.ts';
import { operations, rivals, runOperation } from './operations.ts';
import { runSeed } from './run.ts';
import type { Violation } from './violation.ts';
import type { Interrupt } from './world.ts';

export const interruptions = ['dies before', 'dies after', 'writes twice'] as const;

interface Seed {
  readonly kind: 'seed';
  readonly seed: number;
}

interface Step {
  readonly kind: 'step';
  readonly operation: string;
  readonly step: number;
  readonly how: (typeof interruptions)[number];
}

interface Race {
  readonly kind: 'race';
  readonly operation: string;
  readonly step: number;
  readonly rival: string;
}

export type Life = Seed | Step | Race;

/** By which it can be lived again. */
export function nameOf(life: Life): string {
  if (life.kind === 'seed') return `seed/${life.seed}`;
  const { kind, operation, step } = life;
  return [kind, operation, step, life.kind === 'step' ? life.how : life.rival].join('/');
}

/** @throws RangeError for what is no life's name */
export function lifeOf(name: string): Life {
  const [kind, subject = '', step, manner = ''] = name.split('/');
  if (kind === 'seed' && Number(subject) > 0) return { kind, seed: Number(subject) };
  const how = interruptions.find((each) => each === manner);
  const base = { operation: subject, step: Number(step) };
  if (operations[subject] && Number(step) > 0) {
    if (kind === 'step' && how) return { kind, ...base, how };
    if (kind === 'race' && rivals[manner]) return { kind, ...base, rival: manner };
  }
  throw new RangeError(`There is no life ${name}.`);
}

export async function liveOnce(
  life: Life,
  options: { readonly strip?: Strip; readonly trace?: ((line: string) => void) | undefined } = {},
): Promise<Violation | undefined> {
  if (life.kind === 'seed') return (await runSeed(life.seed, options)).violation;
  const interrupt: Interrupt =
    life.kind === 'step'
      ? { step: life.step, how: life.how }
      : { step: life.step, how: 'stalls', meanwhile: rivals[life.rival] as () => unknown };
  try {
    await runOperation(life.operation, { ...options, interrupt });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'Violation') throw error;
    return error as Violation;
  }
}

/** Each step of the operation, interrupted in each way. */
export async function everyStep(operation: string): Promise<Life[]> {
  const { steps } = await runOperation(operation);
  return numbers(steps).flatMap((step) =>
    interruptions.map((how) => ({ kind: 'step', operation, step, how }) as const),
  );
}

/** Each step of each operation, stalled while each of the others happens. */
export async function everyRace(): Promise<Life[]> {
  const lives: Life[] = [];
  for (const operation of Object.keys(operations)) {
    const { steps } = await runOperation(operation);
    for (const rival of Object.keys(rivals)) {
      lives.push(
        ...numbers(steps).map((step) => ({ kind: 'race', operation, step, rival }) as const),
      );
    }
  }
  return lives;
}

export function seeds(from: number, count: number): Life[] {
  return numbers(count).map((number) => ({ kind: 'seed', seed: from - 1 + number }));
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
