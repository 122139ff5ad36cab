// Operations one at a time, in a cloud where nothing goes wrong but what is asked for: at one of their
// steps a process dies, writes twice, or stalls while something else happens.

import { deployableOf } from '#core/store/rows.ts';
import { fpgaAddress, gpuAddress, nicAddress } from './host.ts';
import { checkConvergence, createSafetyCheck } from './invariants.ts';
import type { Server } from './nova.ts';
import { makeProfiles } from './run.ts';
import { createWorld, type World, type WorldOptions } from './world.ts';

const minuteMs = 60_000;
/** One host, and of each of its devices two handles. */
const seed = 19;
/** Long enough for deadlines, quarantine, and the reaper. */
const peaceMs = 25 * minuteMs;

type Act = (world: World) => unknown;

/** What an operation is about; those about different things do not meet. */
type Subject = 'NIC' | 'GPU' | 'FPGA' | 'host' | 'instance' | 'profile';

interface Operation {
  readonly about: readonly Subject[];
  /** What must be there first, and how long it takes until it is. */
  readonly prepare?: Act;
  readonly prepareMs?: number;
  readonly act: Act;
}

const boot =
  (name: string): Act =>
  (world) => {
    const profile = world.profiles.find((each) => each.name === name);
    if (!profile) throw new Error(`There is no profile ${name}.`);
    return world.nova.boot(profile);
  };

/** And its agent starts anew, so that it is told at once. */
const unplug =
  (address: string): Act =>
  ({ hosts }) => {
    for (const host of hosts) {
      host.hardware.present.delete(address);
      host.killAgent();
    }
  };

const plug =
  (address: string): Act =>
  ({ hosts }) => {
    for (const host of hosts) {
      host.hardware.present.add(address);
      host.killAgent();
    }
  };

const reboot: Act = ({ hosts }) => hosts.forEach((host) => void host.reboot(2000));

/** One act, and later another. */
function then(act: Act, afterMs: number, next: Act): Act {
  return (world) => {
    void act(world);
    world.timeline.at(world.timeline.now() + afterMs, () => void next(world));
  };
}

function isOut(isOut: boolean): Act {
  return ({ iot }) => {
    iot.isOut = isOut;
  };
}

function isForgetful(isForgetful: boolean): Act {
  return ({ openstack }) => {
    openstack.isForgetful = isForgetful;
  };
}

const asAdmin = (world: World, method: string, path: string, body?: unknown) =>
  world.api(world.spawn('nova operator'), method, path, body, 'admin-token');

const profileUuid = '6b9a7c52-0d53-4e0e-9a3b-0a6f3b0c7d11';

const makeProfile =
  (name: string, uuid?: string): Act =>
  (world) =>
    asAdmin(world, 'POST', '/device_profiles', [
      { name, ...(uuid && { uuid }), groups: [{ 'resources:FPGA': '1' }] },
    ]);

const deleteProfile: Act = (world) => asAdmin(world, 'DELETE', '/device_profiles?value=one');

/** As an admin, of the region and its device. */
function operator(method: string, path: (ids: { region: string; device: string }) => string) {
  return (world: World, body?: unknown) => {
    const rows = world.database.rows('inventory').filter(({ sk }) => sk === 'DEPLOYABLE');
    const fpga = rows.map(deployableOf).find(({ region }) => region !== undefined);
    const ids = { region: fpga?.uuid ?? '', device: fpga?.deviceUuid ?? '' };
    return asAdmin(world, method, path(ids), body);
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

/** Of the ARQs of the last server, one. */
const snatchOne =
  (index: number): Act =>
  async (world) => {
    const server = last(world);
    const arq = Object.keys(server?.patch ?? {}).at(index);
    if (!server || !arq) return;
    server.isRobbed = true;
    const process = world.spawn('nova rival');
    await world.api(process, 'DELETE', `/accelerator_requests?arqs=${arq}`);
  };

/** Other ARQs for the instance that is being bound. */
const bindOthers: Act = async (world) => {
  const server = last(world);
  const target = Object.values(server?.patch ?? {})[0];
  if (!server || !target) return;
  server.isRobbed = true;
  const process = world.spawn('nova rival');
  const { json } = await world.api(process, 'POST', '/accelerator_requests', {
    device_profile_name: server.profile.name,
  });
  const uuids: string[] = json.arqs.map(({ uuid }: { uuid: string }) => uuid);
  const patch = Object.fromEntries(uuids.map((uuid) => [uuid, target]));
  await world.api(process, 'PATCH', '/accelerator_requests', patch);
  await world.timeline.sleep(process, 40_000);
  await world.api(process, 'DELETE', `/accelerator_requests?arqs=${uuids.join(',')}`);
};

const deleteLast: Act = (world) => {
  const server = last(world);
  return server && world.nova.delete(server);
};

type Rival = Pick<Operation, 'about' | 'act'>;

export const operations: Readonly<Record<string, Operation>> = {
  'a bind of a plain device': { about: ['NIC', 'instance'], act: boot('nic2') },
  'a bind that needs its host': { about: ['GPU', 'host', 'instance'], act: boot('vgpu') },
  'a bind that programs an FPGA': { about: ['FPGA', 'host', 'instance'], act: boot('fpga1') },
  'a bind that fails on the host': { about: ['FPGA', 'host', 'instance'], act: boot('fpga-wrong') },
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
    act: (world) => world.nova.rob(first(world)),
  },
  'a delete of all that it has': {
    about: ['NIC', 'GPU', 'FPGA', 'host', 'instance'],
    prepare: boot('all'),
    act: (world) => world.nova.delete(first(world)),
  },
  'a delete of one of two': {
    about: ['NIC', 'instance'],
    prepare: boot('nic2'),
    act: snatchOne(0),
  },
  'a bind of a region as it is': { about: ['FPGA', 'instance'], act: boot('fpga') },
  'a bind behind a release': {
    about: ['GPU', 'host', 'instance'],
    prepare: boot('vgpu2'),
    act: then(deleteLast, 30, boot('vgpu2')),
  },
  'a device that comes back': {
    about: ['NIC', 'host', 'instance'],
    prepare: then(boot('nic2'), 20_000, unplug(nicAddress)),
    act: plug(nicAddress),
  },
  'a boot that waits for an image': {
    about: ['FPGA', 'host', 'instance'],
    prepare: then(boot('all'), 20_000, (world) => {
      world.openstack.outages.add('Glance');
      reboot(world);
    }),
    prepareMs: 6 * minuteMs,
    act: ({ openstack }) => void openstack.outages.delete('Glance'),
  },
  'an instance that Nova knows again': {
    about: ['GPU', 'instance'],
    prepare: then(boot('vgpu'), 10_000, isForgetful(true)),
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
  'a region that an operator programs': { about: ['FPGA', 'host'], act: programRegion },
};

/** What happens to a server, its host or its devices while an operation stalls. */
export const rivals: Readonly<Record<string, Rival>> = {
  'the same bind': {
    about: ['instance'],
    act: (world) => {
      const patch = last(world)?.patch;
      if (patch) void world.api(world.spawn('nova rival'), 'PATCH', '/accelerator_requests', patch);
    },
  },
  'a bind of its ARQs for another': {
    about: ['instance'],
    act: (world) => {
      const server = last(world);
      return server && world.nova.rival(server);
    },
  },
  'a delete of its ARQs': {
    about: ['instance'],
    act: (world) => {
      const server = last(world);
      return server && world.nova.snatch(server);
    },
  },
  'an operator who unbinds and binds': {
    about: ['instance'],
    act: (world) => {
      const server = last(world);
      return server && world.nova.rob(server);
    },
  },
  'a plain bind': { about: ['NIC'], act: boot('nic') },
  'a bind on the host': { about: ['GPU'], act: boot('vgpu') },
  'a bind of another function': { about: ['FPGA'], act: boot('fpga2') },
  'a bind of all': { about: ['NIC', 'GPU', 'FPGA'], act: boot('all') },
  'a GPU that goes': { about: ['GPU'], act: unplug(gpuAddress) },
  'a delete of one of its ARQs': { about: ['instance'], act: snatchOne(-1) },
  'a bind of other ARQs for it': { about: ['instance'], act: bindOthers },
  'a GPU that goes and comes': {
    about: ['GPU'],
    act: then(unplug(gpuAddress), 7000, plug(gpuAddress)),
  },
  'a NIC that goes and comes': {
    about: ['NIC'],
    act: then(unplug(nicAddress), 7000, plug(nicAddress)),
  },
  'a NIC that comes': { about: ['NIC'], act: plug(nicAddress) },
  'a NIC that goes': { about: ['NIC'], act: unplug(nicAddress) },
  'an FPGA that goes': { about: ['FPGA'], act: unplug(fpgaAddress) },
  'a boot of the host': { about: ['host'], act: reboot },
  'another agent': {
    about: ['host'],
    act: ({ hosts }) => hosts.forEach((host) => void host.killAgent()),
  },
  'an operator who programs': { about: ['FPGA'], act: programRegion },
  'an operator who frees by force': { about: ['FPGA'], act: freeByForce },
  'an operator who programs, frees it by force, and takes it out': {
    about: ['FPGA'],
    act: then(
      then(then(isOut(true), 0, programRegion), 2000, freeByForce),
      4000,
      then(unplug(fpgaAddress), 3000, isOut(false)),
    ),
  },
  'others under way that go while AWS IoT is out': {
    about: ['FPGA'],
    act: then(
      then(then(isOut(true), 0, boot('fpga2')), 4000, (world) => {
        const server = last(world);
        return server && world.nova.snatch(server);
      }),
      40_000,
      isOut(false),
    ),
  },
  'others that come and go on a slow host': {
    about: ['GPU'],
    act: then(
      then(boot('vgpu2'), 6000, deleteLast),
      6500,
      then(({ hosts }) => hosts.forEach((host) => void host.killAgent()), 500, boot('vgpu2')),
    ),
  },
  'the same profile': { about: ['profile'], act: makeProfile('one') },
  'its uuid for another profile': { about: ['profile'], act: makeProfile('two', profileUuid) },
  'the same profile anew': {
    about: ['profile'],
    act: then(deleteProfile, 3000, makeProfile('one')),
  },
};

/** Whether they can meet. */
export function meet(operation: string, rival: string): boolean {
  const [ours, theirs] = [operations[operation]?.about ?? [], rivals[rival]?.about ?? []];
  return ours.some((subject) => theirs.includes(subject));
}

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
  const world = createWorld(seed, { ...options, isQuiet: true });
  try {
    const check = createSafetyCheck(world);
    makeProfiles(world);
    await world.live(2 * minuteMs, check);
    void operation.prepare?.(world);
    await world.live(operation.prepareMs ?? minuteMs, check);
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
