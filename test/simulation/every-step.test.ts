// Each operation, once for every step of it: its process dies there, before or after the step has
// happened, or the step's write is sent twice. In the end all sides agree, every time.

import { expect, it } from 'vitest';
import { gpuAddress, nicAddress } from './host.ts';
import { checkConvergence, createSafetyCheck } from './invariants.ts';
import { makeProfiles } from './run.ts';
import { createWorld, type Interrupt, type World } from './world.ts';

const minuteMs = 60_000;
const seed = 2;
/** Long enough for deadlines, quarantine, and the reaper. */
const peaceMs = 25 * minuteMs;

interface Operation {
  /** What must be there first. */
  readonly prepare?: (world: World) => unknown;
  readonly act: (world: World) => unknown;
}

const boot = (name: string) => (world: World) => {
  const profile = world.profiles.find((each) => each.name === name);
  if (!profile) throw new Error(`There is no profile ${name}.`);
  return world.nova.boot(profile);
};

function server({ nova }: World) {
  const [first] = nova.servers;
  if (!first) throw new Error('There is no server.');
  return first;
}

function unplug(address: string) {
  return ({ hosts }: World) =>
    hosts.forEach(({ hardware }) => void hardware.present.delete(address));
}

const operations: Readonly<Record<string, Operation>> = {
  'a bind of a plain device': { act: boot('nic2') },
  'a bind that needs its host': { act: boot('vgpu') },
  'a bind that programs an FPGA': { act: boot('fpga1') },
  'a bind that fails on the host': { act: boot('fpga-wrong') },
  'a delete': { prepare: boot('nic'), act: (world) => world.nova.delete(server(world)) },
  'a release by the host': {
    prepare: boot('vgpu'),
    act: (world) => world.nova.delete(server(world)),
  },
  'an unbind, and a bind again': {
    prepare: boot('vgpu'),
    act: (world) => world.nova.rob(server(world)),
  },
  'a device that comes': {
    prepare: unplug(nicAddress),
    act: ({ hosts }) => hosts.forEach(({ hardware }) => void hardware.present.add(nicAddress)),
  },
  'a device that goes': { act: unplug(gpuAddress) },
  'a boot of the host': {
    prepare: boot('all'),
    act: ({ hosts }) => hosts.forEach((host) => void host.reboot(20_000)),
  },
  'an instance that Nova has forgotten': {
    prepare: boot('vgpu'),
    act: (world) => {
      const { uuid } = server(world);
      server(world).status = 'DELETED';
      world.openstack.servers.delete(uuid);
      delete world.openstack.placement.consumers[uuid];
    },
  },
};

/** @returns how many steps there were, and how the servers are */
async function run({ prepare, act }: Operation, interrupt?: Interrupt) {
  const world = createWorld(seed, { isQuiet: true, interrupt });
  try {
    const check = createSafetyCheck(world);
    makeProfiles(world);
    await world.live(2 * minuteMs, check);
    void prepare?.(world);
    await world.live(minuteMs, check);
    world.arm();
    void act(world);
    await world.live(minuteMs, check);
    const steps = world.stepsTaken();
    await world.live(peaceMs, check);
    checkConvergence(world);
    return { steps, servers: world.nova.servers.map(({ status }) => status) };
  } finally {
    world.stop();
  }
}

const ways = ['dies before', 'dies after', 'writes twice'] as const;

it.each(Object.keys(operations))(
  '%s',
  async (name) => {
    const operation = operations[name] as Operation;
    const { steps } = await run(operation);
    expect(steps).toBeGreaterThan(5);
    for (let step = 1; step <= steps; step += 1) {
      for (const how of ways) {
        await run(operation, { step, how }).catch((error: Error) => {
          throw new Error(`step ${step} of ${steps}, ${how}: ${error.message}`);
        });
      }
    }
  },
  300_000,
);
