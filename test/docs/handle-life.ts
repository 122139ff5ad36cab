// The life of an attach handle as a table: what happens to its fields, and when it may. The fields
// determine the states in docs/drawings.md.

import type { AttachHandle } from '#core/domain/device/device.ts';

/** Whether each of the handle's fields is set. */
export type Fields = ReadonlySet<Extract<keyof AttachHandle, 'claim' | 'release' | 'quarantine'>>;
type Field = Fields extends ReadonlySet<infer Name> ? Name : never;

export const states = ['free', 'claimed', 'waiting', 'cleaning', 'quarantined'] as const;
export type State = (typeof states)[number];

export const meanings: Readonly<Record<State, string>> = {
  free: 'nothing is set',
  claimed: 'claim',
  waiting: 'claim and release',
  cleaning: 'release',
  quarantined: 'release and quarantine',
};

export function stateOf(fields: Fields): State {
  if (fields.has('quarantine')) return 'quarantined';
  if (fields.has('release')) return fields.has('claim') ? 'waiting' : 'cleaning';
  return fields.has('claim') ? 'claimed' : 'free';
}

interface Change {
  readonly label: string;
  readonly needs: readonly Field[];
  readonly forbids: readonly Field[];
  readonly sets: readonly Field[];
  readonly removes: readonly Field[];
}

export const changes: readonly Change[] = [
  {
    label: 'a bind claims it',
    needs: [],
    forbids: ['claim', 'quarantine'],
    sets: ['claim'],
    removes: [],
  },
  {
    label: 'released, nothing to clean',
    needs: ['claim'],
    forbids: ['release'],
    sets: [],
    removes: ['claim'],
  },
  {
    label: 'released, its host must clean',
    needs: ['claim'],
    forbids: [],
    sets: ['release'],
    removes: ['claim'],
  },
  {
    label: 'an operator programs its region',
    needs: [],
    forbids: ['claim', 'release'],
    sets: ['release'],
    removes: [],
  },
  {
    label: 'the host confirms',
    needs: ['release'],
    forbids: [],
    sets: [],
    removes: ['release', 'quarantine'],
  },
  {
    label: 'not confirmed in time',
    needs: ['release'],
    forbids: ['quarantine'],
    sets: ['quarantine'],
    removes: [],
  },
];

interface Transition {
  readonly from: State;
  readonly to: State;
  readonly label: string;
}

/** All states that the table reaches from a handle without fields. */
export function transitions(): readonly Transition[] {
  const found = new Map<string, Transition>();
  const seen = new Set<string>();
  const ahead: Fields[] = [new Set()];
  for (let fields = ahead.pop(); fields; fields = ahead.pop()) {
    const name = [...fields].sort().join(' ');
    if (seen.has(name)) continue;
    seen.add(name);
    for (const each of changes) {
      const has = (field: Field) => fields.has(field);
      if (!each.needs.every(has) || each.forbids.some(has)) continue;
      const kept = [...fields].filter((field) => !each.removes.includes(field));
      const next: Fields = new Set([...kept, ...each.sets]);
      ahead.push(next);
      const [from, to] = [stateOf(fields), stateOf(next)];
      if (from !== to) found.set(`${from} ${to} ${each.label}`, { from, to, label: each.label });
    }
  }
  const rank = ({ from, to }: Transition) => states.indexOf(from) * 10 + states.indexOf(to);
  return [...found.values()].sort((one, other) => rank(one) - rank(other));
}
