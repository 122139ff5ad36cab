// Baselines of firmware, which operators set and remove.

import { deleteBaseline, setBaseline } from '#core/operations/devices/set-baseline.ts';
import { type Act, inTurn } from '#simulation/world/acts.ts';
import type { Operation } from './operations.ts';

const operator = {
  requestId: 'req-0',
  userId: 'operator',
  projectId: '',
  roles: ['admin'],
  hasServiceToken: false,
};
const bmc = { model: '8086:0b30', component: 'bmc' };

/** The process of the operator may die. */
const set: Act = ({ depsFor, spawn }) =>
  setBaseline(depsFor(spawn('operator')), operator, bmc, '2.0').then(
    () => {},
    () => {},
  );

const remove: Act = ({ depsFor, spawn }) =>
  deleteBaseline(depsFor(spawn('operator')), bmc).catch(() => {});

export const baselineOperations: Readonly<Record<string, Operation>> = {
  'set a baseline': { about: ['baseline'], act: set },
  'remove a baseline': { about: ['baseline'], prepare: set, act: remove },
  'remove a baseline that is not set': { about: ['baseline'], act: remove },
};

/** Beside these operations. */
export const concurrentBaselineOperations: Readonly<
  Record<string, Pick<Operation, 'about' | 'act'>>
> = {
  'set the baseline and remove it': { about: ['baseline'], act: inTurn(set, 3000, remove) },
};
