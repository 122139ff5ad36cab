// Baselines of firmware, which operators set and remove, and holds of devices.

import { deleteBaseline, setBaseline } from '#core/operations/devices/set-baseline.ts';
import {
  type Act,
  admin,
  bindUnknown,
  boot,
  inTurn,
  plug,
  unplug,
} from '#simulation/world/acts.ts';
import { nicAddress, secondRegion } from '#simulation/world/host.ts';
import { endHold, hold } from '#simulation/world/rules/holds.ts';
import type { Operation } from './operations.ts';

const minuteMs = 60_000;
const bmc = { model: '8086:0b30', component: 'bmc' };

/** The process of the operator may die. */
const set: Act = ({ depsFor, spawn }) =>
  setBaseline(depsFor(spawn('operator')), admin, bmc, '2.0').then(
    () => {},
    () => {},
  );

const remove: Act = ({ depsFor, spawn }) =>
  deleteBaseline(depsFor(spawn('operator')), bmc).catch(() => {});

export const baselineOperations: Readonly<Record<string, Operation>> = {
  'set a baseline': { about: ['baseline'], act: set },
  'remove a baseline': { about: ['baseline'], prepare: set, act: remove },
  'remove a baseline that is not set': { about: ['baseline'], act: remove },
  'hold the NIC': { about: ['hold'], act: hold('NIC') },
  'hold an FPGA with two regions': {
    about: ['hold'],
    prepare: plug(secondRegion),
    act: hold('FPGA'),
  },
  'end the hold of the NIC': { about: ['hold'], prepare: hold('NIC'), act: endHold('NIC') },
  'end a hold that is not set': { about: ['hold'], act: endHold('NIC') },
  'end a hold whose time is over': {
    about: ['hold'],
    prepare: hold('NIC', minuteMs - 1000),
    act: () => {},
  },
  'plug in a NIC that a hold matches': {
    about: ['hold'],
    prepare: inTurn(unplug(nicAddress), minuteMs, hold('NIC')),
    prepareMs: 4 * minuteMs,
    act: plug(nicAddress),
  },
  'bind a NIC that is on hold': {
    about: ['hold'],
    prepare: inTurn(boot('nic'), 20_000, hold('NIC')),
    prepareMs: 2 * minuteMs,
    act: bindUnknown,
  },
};

/** Beside these operations. */
export const concurrentBaselineOperations: Readonly<
  Record<string, Pick<Operation, 'about' | 'act'> & { readonly of?: readonly string[] }>
> = {
  'set the baseline and remove it': { about: ['baseline'], act: inTurn(set, 3000, remove) },
  'hold the NIC': { about: ['hold', 'NIC'], act: hold('NIC') },
  'hold the NIC and end the hold': {
    about: ['hold', 'NIC'],
    act: inTurn(hold('NIC'), 3000, endHold('NIC')),
  },
  'unplug the NIC, last row deleted late': {
    about: ['hold'],
    of: ['hold the NIC'],
    act: (world) => {
      for (const ms of [0, 20_000]) world.stall('provider-syncs', 'DynamoDB Delete', ms);
      unplug(nicAddress)(world);
    },
  },
  'unplug the second region': {
    about: ['hold'],
    of: ['hold an FPGA with two regions'],
    act: unplug(secondRegion),
  },
};
