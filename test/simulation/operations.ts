// Operations one at a time, in a cloud where nothing goes wrong but what is asked for: at one of their
// steps a process dies, writes twice, or stalls while something else happens.

import { deployableOf } from '#core/store/rows.ts';
import { fpgaAddress, gpuAddress, nicAddress } from './host.ts';
import { checkConvergence, createSafetyCheck } from './invariants.ts';
import type { Server } from './nova.ts';
import { makeProfiles } from './run.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

const minuteMs = 60_000;
/** One host, and of each device more than one handle. */
const seed = 2;
/** Long enough for deadlines, quarantine, and the reaper. */
const peaceMs = 25 * minuteMs;

type Act = (world: World) => unknown;

interface Operation {
  /** What must be there first. */
  readonly prepare?: Act;
  readonly act: Act;
}

const boot =
  (name: string): Act =>
  (world) => {
    const profile = world.profiles.find((each) => each.name === name);
    if (!profile) throw new Error(`There is no profile ${name}.`);
    return world.nova.boot(profile);
  };

const unplug =
  (address: string): Act =>
  ({ hosts }) =>
    hosts.forEach(({ hardware }) => void hardware.present.delete(address));

const plug =
  (address: string): Act =>
  ({ hosts }) =>
    hosts.forEach(({ hardware }) => void hardware.present.add(address));

const reboot: Act = ({ hosts }) => hosts.forEach((host) => void host.reboot(5000));

/** As an admin, of the region and its device. */
function operator(method: string, path: (ids: { region: string; device: string }) => string) {
  return (world: World, body?: unknown) => {
    const rows = world.database.rows('inventory').filter(({ sk }) => sk === 'DEPLOYABLE');
    const fpga = rows.map(deployableOf).find(({ region }) => region !== undefined);
    const ids = { region: fpga?.uuid ?? '', device: fpga?.deviceUuid ?? '' };
    const process = world.spawn('nova operator');
    return world.api(process, method, path(ids), body, 'admin-token');
  };
}

const programRegion: Act = (world) => {
  const image = world.profiles.find(({ name }) => name === 'fpga2')?.groups[0];
  const value = [{ image_uuid: image?.['accel:bitstream_id'] }];
  return operator('PATCH', ({ region }) => `/deployables/${region}/program`)(world, [
    { op: 'replace', path: '/program', value },
  ]);
};

const freeByForce: Act = operator('POST', ({ device }) => `/devices/${device}/force_release`);

function first({ nova }: World): Server {
  const [server] = nova.servers;
  if (!server) throw new Error('There is no server.');
  return server;
}

function last({ nova }: World): Server | undefined {
  return nova.servers.at(-1);
}

function forget(world: World): void {
  const { uuid } = first(world);
  first(world).status = 'DELETED';
  world.openstack.servers.delete(uuid);
  delete world.openstack.placement.consumers[uuid];
}

export const operations: Readonly<Record<string, Operation>> = {
  'a bind of a plain device': { act: boot('nic2') },
  'a bind that needs its host': { act: boot('vgpu') },
  'a bind that programs an FPGA': { act: boot('fpga1') },
  'a bind that fails on the host': { act: boot('fpga-wrong') },
  'a delete': { prepare: boot('nic'), act: (world) => world.nova.delete(first(world)) },
  'a release by the host': {
    prepare: boot('vgpu'),
    act: (world) => world.nova.delete(first(world)),
  },
  'an unbind, and a bind again': {
    prepare: boot('vgpu'),
    act: (world) => world.nova.rob(first(world)),
  },
  'a device that comes': { prepare: unplug(nicAddress), act: plug(nicAddress) },
  'a device that goes': { act: unplug(gpuAddress) },
  'a boot of the host': { prepare: boot('all'), act: reboot },
  'an instance that Nova has forgotten': { prepare: boot('vgpu'), act: forget },
  'a region that an operator programs': { act: programRegion },
};

/** What happens to a server, its host or its devices while an operation stalls. */
export const rivals: Readonly<Record<string, Act>> = {
  'the same bind': (world) => {
    const patch = last(world)?.patch;
    if (patch) void world.api(world.spawn('nova rival'), 'PATCH', '/accelerator_requests', patch);
  },
  'a bind of its ARQs for another': (world) => {
    const server = last(world);
    return server && world.nova.rival(server);
  },
  'a delete of its ARQs': (world) => {
    const server = last(world);
    return server && world.nova.snatch(server);
  },
  'an operator who unbinds and binds': (world) => {
    const server = last(world);
    return server && world.nova.rob(server);
  },
  'a plain bind': boot('nic'),
  'a bind on the host': boot('vgpu'),
  'a bind of another function': boot('fpga2'),
  'a bind of all': boot('all'),
  'a GPU that goes': unplug(gpuAddress),
  'a GPU that goes and comes': (world) => {
    unplug(gpuAddress)(world);
    world.timeline.at(world.timeline.now() + 12_000, () => plug(gpuAddress)(world));
  },
  'a NIC that goes': unplug(nicAddress),
  'an FPGA that goes': unplug(fpgaAddress),
  'a boot of the host': reboot,
  'another agent': ({ hosts }) => hosts.forEach((host) => void host.killAgent()),
  'an operator who programs': programRegion,
  'an operator who frees by force': freeByForce,
};

export interface OperationOutcome {
  /** Of the operation, where nothing interrupts it. */
  readonly steps: number;
  readonly servers: readonly string[];
}

/** @throws Violation */
export async function runOperation(
  name: string,
  options: Pick<WorldOptions, 'interrupt' | 'strip' | 'trace'> = {},
): Promise<OperationOutcome> {
  const operation = operations[name];
  if (!operation) throw new Error(`There is no operation ${name}.`);
  const world = createWorld(seed, { ...options, isQuiet: true });
  try {
    const check = createSafetyCheck(world);
    makeProfiles(world);
    await world.live(2 * minuteMs, check);
    void operation.prepare?.(world);
    await world.live(minuteMs, check);
    world.arm();
    void operation.act(world);
    await world.live(minuteMs, check);
    const steps = world.stepsTaken();
    await world.live(peaceMs, check);
    checkConvergence(world);
    return { steps, servers: world.nova.servers.map(({ status }) => status) };
  } finally {
    world.stop();
  }
}
