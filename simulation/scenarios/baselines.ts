// Baselines of firmware, which operators set and remove, and holds of devices.

import { holdId } from '#core/domain/device/device-holds.ts';
import { endHold, holdDevices } from '#core/operations/devices/hold-devices.ts';
import { deleteBaseline, setBaseline } from '#core/operations/devices/set-baseline.ts';
import { type Act, inTurn, plug, unplug } from '#simulation/world/acts.ts';
import { nicAddress } from '#simulation/world/host.ts';
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

const nics = { type: 'NIC' };

const hold: Act = ({ depsFor, spawn }) =>
  holdDevices(depsFor(spawn('operator')), operator, nics, { reason: 'loud' }).then(
    () => {},
    () => {},
  );

const end: Act = ({ depsFor, spawn }) =>
  endHold(depsFor(spawn('operator')), operator, holdId(nics)).catch(() => {});

export const baselineOperations: Readonly<Record<string, Operation>> = {
  'set a baseline': { about: ['baseline'], act: set },
  'remove a baseline': { about: ['baseline'], prepare: set, act: remove },
  'remove a baseline that is not set': { about: ['baseline'], act: remove },
  'hold the NIC': { about: ['hold'], act: hold },
  'end the hold of the NIC': { about: ['hold'], prepare: hold, act: end },
  'end a hold that is not set': { about: ['hold'], act: end },
  'plug in a NIC that a hold matches': {
    about: ['hold'],
    prepare: inTurn(unplug(nicAddress), 60_000, hold),
    prepareMs: 120_000,
    act: plug(nicAddress),
  },
};

/** Beside these operations. */
export const concurrentBaselineOperations: Readonly<
  Record<string, Pick<Operation, 'about' | 'act'>>
> = {
  'set the baseline and remove it': { about: ['baseline'], act: inTurn(set, 3000, remove) },
  'hold the NIC and end the hold': { about: ['hold'], act: inTurn(hold, 3000, end) },
  'unplug the NIC': { about: ['hold'], act: unplug(nicAddress) },
};
