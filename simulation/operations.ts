// Operations one at a time, in a cloud where nothing goes wrong but what is asked for: at one of their
// steps a process dies, writes twice, or stalls while something else happens.

import {
  type Act,
  boot,
  cloneHosts,
  createSpare,
  deleteLast,
  deleteOneArq,
  deleteProfile,
  deleteSpare,
  endConflicts,
  first,
  forget,
  forgetPresence,
  inTurn,
  isBlindAfterKill,
  isBroken,
  isForgetful,
  isOfThePast,
  isOut,
  isPlacementOut,
  isUnheard,
  keepImages,
  killAgents,
  makeProfile,
  plug,
  profileUuid,
  programRegion,
  reboot,
  unplug,
} from './acts.ts';
import { quietRates, type Rates } from './faults.ts';
import { gpuAddress, nicAddress } from './host.ts';
import { checkConvergence, createSafetyCheck } from './invariants.ts';
import { makeProfiles } from './run.ts';
import { createWorld, type WorldOptions } from './world.ts';

const minuteMs = 60_000;
const seed = 19;
/** Long enough for deadlines, quarantine, and the reaper. */
const quiescenceMs = 25 * minuteMs;

/** What an operation is about; those about different things do not meet. */
export type Subject = 'NIC' | 'GPU' | 'FPGA' | 'host' | 'instance' | 'profile';

export interface Operation {
  readonly about: readonly Subject[];
  /** What must be there first, and how long it takes until it is. */
  readonly prepare?: Act;
  readonly prepareMs?: number;
  readonly act: Act;
  /** What goes wrong by chance all the same. */
  readonly rates?: Rates;
}

export const operations: Readonly<Record<string, Operation>> = {
  'a bind of a plain device': { about: ['NIC', 'instance'], act: boot('nic2') },
  'a bind that needs its host': { about: ['GPU', 'host', 'instance'], act: boot('vgpu') },
  'a bind that programs an FPGA': { about: ['FPGA', 'host', 'instance'], act: boot('fpga1') },
  'a bind that fails on the host': { about: ['FPGA', 'host', 'instance'], act: boot('fpga-wrong') },
  'a bind that the GPU refuses': {
    about: ['GPU', 'host'],
    prepare: isBroken(true),
    act: boot('vgpu'),
  },
  'a bind of an agent that cannot look after a kill': {
    about: ['GPU'],
    // The resumed step cannot look; the release that follows can.
    prepare: isBlindAfterKill(2300),
    act: boot('vgpu'),
    rates: {},
  },
  'a release that its host is asked for again': {
    about: ['GPU', 'host'],
    prepare: inTurn(boot('vgpu'), 10_000, inTurn(isBroken(true), 0, deleteLast)),
    act: inTurn(isBroken(false), 0, () => {}),
  },
  'a delete': {
    about: ['NIC', 'instance'],
    prepare: boot('nic'),
    act: (world) => world.nova.delete(first(world)),
  },
  'a release by the host': {
    about: ['GPU', 'host', 'instance'],
    prepare: boot('vgpu'),
    act: (world) => world.nova.delete(first(world)),
  },
  'an unbind, and a bind again': {
    about: ['GPU', 'host', 'instance'],
    prepare: boot('vgpu'),
    act: (world) => world.nova.unbindAndRebind(first(world)),
  },
  'a delete of all that it has': {
    about: ['NIC', 'GPU', 'FPGA', 'host', 'instance'],
    prepare: boot('all'),
    act: (world) => world.nova.delete(first(world)),
  },
  'a delete of ARQs that are not bound': {
    about: ['NIC'],
    prepare: inTurn(boot('nic'), 10_000, createSpare),
    act: deleteSpare,
  },
  'a delete of one of three while their host boots': {
    about: ['FPGA', 'host', 'instance'],
    // The boot is known for 15 s: nothing has followed from it.
    prepare: inTurn(boot('all'), 30_000, reboot),
    prepareMs: 47_000,
    act: deleteOneArq(-1),
  },
  'a delete of one of two': {
    about: ['NIC', 'instance'],
    prepare: boot('nic2'),
    act: deleteOneArq(0),
  },
  'a delete of two': {
    about: ['NIC'],
    prepare: boot('nic2'),
    act: (world) => world.nova.delete(first(world)),
  },
  'a bind of a region as it is': { about: ['FPGA', 'instance'], act: boot('fpga') },
  'a boot of a host of which two have a region': {
    about: ['FPGA', 'host', 'instance'],
    prepare: inTurn(boot('fpga1'), 20_000, boot('fpga1')),
    act: reboot,
  },
  'a bind of one behind a release': {
    about: ['GPU'],
    prepare: boot('vgpu2'),
    act: inTurn(deleteLast, 60, boot('vgpu')),
  },
  'a bind behind a release': {
    about: ['GPU', 'host', 'instance'],
    prepare: boot('vgpu2'),
    act: inTurn(deleteLast, 30, boot('vgpu2')),
  },
  'a device that comes back': {
    about: ['NIC', 'host', 'instance'],
    prepare: inTurn(boot('nic2'), 20_000, unplug(nicAddress)),
    act: plug(nicAddress),
  },
  'a boot that waits for an image': {
    about: ['FPGA', 'host', 'instance'],
    prepare: inTurn(boot('all'), 20_000, (world) => {
      world.openstack.outages.add('Glance');
      reboot(world);
    }),
    prepareMs: 6 * minuteMs,
    act: ({ openstack }) => void openstack.outages.delete('Glance'),
  },
  'an instance that Nova knows again': {
    about: ['GPU', 'instance'],
    prepare: inTurn(boot('vgpu'), 10_000, isForgetful(true)),
    prepareMs: 3 * minuteMs,
    act: isForgetful(false),
  },
  'a profile that is made': { about: ['profile'], act: makeProfile('one', profileUuid) },
  'a profile that is deleted': {
    about: ['profile'],
    prepare: makeProfile('one'),
    act: deleteProfile,
  },
  'a device that comes': {
    about: ['NIC', 'host'],
    prepare: unplug(nicAddress),
    act: plug(nicAddress),
  },
  'a device that goes': { about: ['GPU', 'host'], act: unplug(gpuAddress) },
  'a boot of the host': {
    about: ['GPU', 'FPGA', 'host', 'instance'],
    prepare: boot('all'),
    act: reboot,
  },
  'an instance that Nova has forgotten': {
    about: ['GPU', 'instance'],
    prepare: boot('vgpu'),
    act: forget,
  },
  'a bind of whose end is told once': {
    about: ['host'],
    act: boot('vgpu'),
    rates: {},
  },
  'a delete of one of two that are being bound': {
    about: ['GPU', 'instance'],
    prepare: inTurn(isOut(true), 0, boot('vgpu2')),
    prepareMs: 10_000,
    act: inTurn(deleteOneArq(0), 30_000, isOut(false)),
  },
  'a boot of which not all can be made again': {
    about: ['host', 'instance'],
    prepare: inTurn(boot('vgpu'), 100, boot('vgpu')),
    act: inTurn(isBroken(true), 0, reboot),
    rates: {},
  },
  'a boot that leaves the image where it is': {
    about: ['host', 'instance'],
    prepare: boot('fpga1'),
    act: inTurn(keepImages, 0, reboot),
  },
  'a boot that goes on waiting for an image': {
    about: ['instance'],
    prepare: inTurn(boot('all'), 20_000, (world) => {
      world.openstack.outages.add('Glance');
      reboot(world);
    }),
    prepareMs: 6 * minuteMs,
    act: inTurn(
      () => {},
      10 * minuteMs,
      ({ openstack }) => void openstack.outages.delete('Glance'),
    ),
  },
  'a heartbeat': {
    about: ['host'],
    prepareMs: 2.75 * minuteMs,
    act: () => {},
  },
  'a host that is heard of for the first time': {
    about: ['host'],
    prepare: forgetPresence,
    prepareMs: 1000,
    act: killAgents,
  },
  'an instance that Nova and Placement find again': {
    about: ['instance'],
    prepare: inTurn(boot('vgpu'), 10_000, isOfThePast(true)),
    prepareMs: 3 * minuteMs,
    act: isOfThePast(false),
  },
  'an instance that Nova does not find for 12 minutes': {
    about: ['instance'],
    prepare: inTurn(boot('vgpu'), 10_000, isForgetful(true)),
    act: inTurn(() => {}, 12 * minuteMs, isForgetful(false)),
  },
  'a release of two by the host': {
    about: ['GPU'],
    prepare: boot('vgpu2'),
    act: deleteLast,
  },
  'a release that is overdue': {
    about: ['GPU', 'host'],
    prepare: inTurn(boot('vgpu'), 10_000, inTurn(isOut(true), 0, deleteLast)),
    prepareMs: 305_000,
    act: inTurn(() => {}, 90_000, isOut(false)),
  },
  'a report of a host in conflict': {
    about: ['host'],
    prepare: inTurn(boot('vgpu'), 20_000, cloneHosts),
    prepareMs: 8 * minuteMs,
    act: inTurn(killAgents, 2 * minuteMs, endConflicts),
  },
  'an instance that Nova and Placement know again': {
    about: ['instance'],
    prepare: inTurn(boot('vgpu'), 10_000, isOfThePast(true)),
    prepareMs: 3 * minuteMs,
    act: inTurn(() => {}, 3 * minuteMs, isOfThePast(false)),
  },
  'a bind that is overdue': {
    about: ['instance'],
    prepare: inTurn(isOut(true), 0, boot('vgpu')),
    prepareMs: 185_000,
    act: inTurn(() => {}, 30_000, isOut(false)),
  },
  'a delete of a bind that is overdue': {
    about: ['instance'],
    prepare: inTurn(inTurn(isOut(true), 0, isUnheard(true)), 0, boot('vgpu2')),
    prepareMs: 185_000,
    act: inTurn(
      (world) => world.nova.deleteArqs(first(world)),
      40_000,
      inTurn(isOut(false), 0, isUnheard(false)),
    ),
  },
  'a clone of the host': {
    about: ['host', 'GPU'],
    prepare: boot('vgpu'),
    act: inTurn(cloneHosts, 8 * minuteMs, endConflicts),
  },
  'a clone of a host whose NIC is gone': {
    about: ['host'],
    prepare: inTurn(isPlacementOut(true), 0, unplug(nicAddress)),
    act: inTurn(
      inTurn(cloneHosts, minuteMs, isPlacementOut(false)),
      8 * minuteMs,
      inTurn(endConflicts, minuteMs, plug(nicAddress)),
    ),
  },
  'an end of a conflict of identity': {
    about: ['host', 'GPU', 'instance'],
    prepare: inTurn(boot('vgpu'), 20_000, cloneHosts),
    prepareMs: 8 * minuteMs,
    act: inTurn(endConflicts, 1000, killAgents),
  },
  'an end of a conflict on a host whose NIC is gone': {
    about: ['host'],
    prepare: inTurn(inTurn(isPlacementOut(true), 0, unplug(nicAddress)), 20_000, cloneHosts),
    prepareMs: 8 * minuteMs,
    act: inTurn(inTurn(endConflicts, 1000, killAgents), 2 * minuteMs, isPlacementOut(false)),
  },
  'a region that an operator programs': { about: ['FPGA', 'host'], act: programRegion },
};

export interface OperationOutcome {
  /** Their names, where nothing interrupts them. */
  readonly steps: readonly string[];
  readonly servers: readonly string[];
}

/** @throws Violation */
export async function runOperation(
  name: string,
  options: Pick<WorldOptions, 'interrupt' | 'strip' | 'trace'> = {},
): Promise<OperationOutcome> {
  const operation = operations[name];
  if (!operation) throw new Error(`There is no operation ${name}.`);
  const world = createWorld(seed, { rates: operation.rates ?? quietRates, ...options });
  try {
    const check = createSafetyCheck(world);
    makeProfiles(world);
    await world.runFor(2 * minuteMs, check);
    void operation.prepare?.(world);
    await world.runFor(operation.prepareMs ?? minuteMs, check);
    world.arm();
    void operation.act(world);
    await world.runFor(minuteMs, check);
    const steps = world.stepsTaken();
    await world.runFor(quiescenceMs, check);
    checkConvergence(world);
    return { steps, servers: world.nova.servers.map(({ status }) => status) };
  } finally {
    world.stop();
  }
}
