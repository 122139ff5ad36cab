// Checks every change of an ARQ's state against the table (I3), and counts it: a transition with
// the count 0 has not been simulated.

import { type ArqState, comesFrom } from '#core/domain/arq/arq.ts';
import type { RowChange } from '#simulation/database/memory-database.ts';
import type { Violate } from '#simulation/violation.ts';

export interface Transitions {
  see(change: RowChange): void;
  /** Counts by transition, such as `Initial→Bound`. */
  readonly seen: ReadonlyMap<string, number>;
}

/** All transitions that the table allows. */
export const allowed: readonly string[] = Object.entries(comesFrom).flatMap(([to, froms]) =>
  froms.map((from) => `${from}→${to}`),
);

export function createTransitions(violate: Violate): Transitions {
  const seen = new Map<string, number>();
  return {
    seen,
    see: ({ before, after }) => {
      const isArq = String(after?.pk).startsWith('ARQ#');
      if (!after || !isArq || before?.state === after.state) return;
      const to = after.state as ArqState;
      if (!before) {
        if (to !== 'Initial') violate('I3', `a new ARQ has state ${to}`);
        return;
      }
      const name = `${before.state}→${to}`;
      seen.set(name, (seen.get(name) ?? 0) + 1);
      if (!allowed.includes(name)) violate('I3', `ARQ ${after.uuid} changed ${name}`);
    },
  };
}
