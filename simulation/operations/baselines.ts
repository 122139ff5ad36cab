// Baselines of firmware, which operators set and remove, holds of devices, and sets of limited
// size.

import { deleteBaseline, setBaseline } from '#core/operations/devices/set-baseline.ts';
import {
  type Act,
  admin,
  bindUnknown,
  boot,
  grantNic,
  grantNicTo,
  inTurn,
  plug,
  unplug,
} from '#simulation/world/acts.ts';
import { nicAddress, secondRegion } from '#simulation/world/hardware.ts';
import { projects } from '#simulation/world/openstack/openstack.ts';
import {
  dropPlaces,
  fillBaselines,
  fillGrants,
  fillHolds,
  fillPlaces,
} from '#simulation/world/rules/limits/bounded-sets.ts';
import { endHold, hold } from '#simulation/world/rules/limits/holds.ts';
import type { Operation } from './operations.ts';

const minuteMs = 60_000;
const bmc = { model: '8086:0b30', component: 'bmc' };
const shell = { model: '8086:0b30', component: 'shell' };

/** The process of the operator may die. */
const setFor =
  (key: typeof bmc): Act =>
  ({ depsFor, spawn }) =>
    setBaseline(depsFor(spawn('operator')), admin, key, '2.0').then(
      () => {},
      () => {},
    );
const set = setFor(bmc);

/** Nova does so for a server that is not built any further. */
const createUnbound: Act = ({ api, spawn }) =>
  api(spawn('nova'), 'POST', '/accelerator_requests', { device_profile_name: 'nic' }).then(
    () => {},
    () => {},
  );

const remove: Act = ({ depsFor, spawn }) =>
  deleteBaseline(depsFor(spawn('operator')), bmc).catch(() => {});

export const baselineOperations: Readonly<Record<string, Operation>> = {
  'set a baseline': { about: ['baseline'], act: set },
  'set a second baseline': { about: ['baseline'], prepare: setFor(shell), act: set },
  'set a second hold': { about: ['hold'], prepare: hold('GPU'), act: hold('NIC') },
  'grant a second right to program the NIC': {
    about: ['hold'],
    prepare: grantNicTo(projects.other),
    act: grantNic,
  },
  'set the last baseline': { about: ['baseline'], prepare: fillBaselines('counted'), act: set },
  'set the last baseline beside those of an earlier release': {
    about: ['baseline'],
    prepare: fillBaselines('of an earlier release'),
    act: set,
  },
  'set the last baseline beside those of both releases': {
    about: ['baseline'],
    prepare: fillBaselines('of both releases'),
    act: set,
  },
  'set the last hold': { about: ['hold'], prepare: fillHolds, act: hold('NIC') },
  'grant the last right to program the NIC': {
    about: ['hold'],
    prepare: fillGrants,
    act: grantNic,
  },
  'take the last place of an unbound ARQ': {
    about: ['quota'],
    prepare: fillPlaces('unbound'),
    act: createUnbound,
  },
  'take a place of an ARQ that is gone': {
    about: ['quota'],
    prepare: fillPlaces('gone'),
    act: createUnbound,
  },
  'take a place of an ARQ that is gone, after a removal': {
    about: ['quota'],
    prepare: fillPlaces('gone', 1),
    act: createUnbound,
  },
  'take the first place of an unbound ARQ': {
    about: ['quota'],
    prepare: dropPlaces,
    act: createUnbound,
  },
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
  'set another baseline': { about: ['baseline'], act: setFor(shell) },
  'hold the GPU': { about: [], of: ['set the last hold'], act: hold('GPU') },
  'let another project program the NIC': {
    about: [],
    of: ['grant the last right to program the NIC', 'let a project program the NIC'],
    act: grantNicTo(projects.other),
  },
  'create an ARQ': { about: ['quota'], act: createUnbound },
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
