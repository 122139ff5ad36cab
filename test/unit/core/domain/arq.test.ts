import { describe, expect, it } from 'vitest';
import { type ArqState, comesFrom, isResolved, mayBecome } from '#core/domain/arq/arq.ts';

const states = Object.keys(comesFrom) as ArqState[];

/** The whole table, written out by hand: other transitions are refused. */
const allowed: readonly `${ArqState} → ${ArqState}`[] = [
  'Initial → BindStarted',
  'Initial → Bound',
  'Unbound → BindStarted',
  'Unbound → Bound',
  'BindStarted → Bound',
  'BindStarted → BindFailed',
  'BindStarted → Unbound',
  'Bound → Unbound',
  'Bound → provisioning',
  'BindFailed → Unbound',
  'provisioning → Bound',
  'provisioning → BindFailed',
  'provisioning → Unbound',
];

describe('states of an ARQ', () => {
  it.each(states.flatMap((from) => states.map((to) => [from, to] as const)))(
    '%s → %s is as the table has it',
    (from, to) => {
      expect(mayBecome(from, to)).toBe(allowed.includes(`${from} → ${to}`));
    },
  );

  it('counts as resolved when waiting longer changes nothing', () => {
    expect(states.filter(isResolved)).toEqual(['Bound', 'BindFailed']);
    expect(isResolved('unknown')).toBe(false);
  });
});
