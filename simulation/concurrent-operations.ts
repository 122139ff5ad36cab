// What happens meanwhile: to a server, its host or its devices, while an operation stalls.

import {
  bindOthers,
  bindSpare,
  bindUnknown,
  boot,
  cloneHosts,
  deleteLast,
  deleteOneArq,
  deleteProfile,
  endConflicts,
  freeByForce,
  giveBack,
  goRound,
  inTurn,
  isBroken,
  isOut,
  isPlacementOut,
  isUnheard,
  killAgents,
  last,
  makeMdevsByHand,
  makeProfile,
  plug,
  profileUuid,
  programRegion,
  reboot,
  startBindsAgain,
  takeOut,
  unplug,
  withholdAll,
  withoutAllocation,
} from './acts.ts';
import { fpgaAddress, gpuAddress, nicAddress } from './host.ts';
import { type Operation, operations } from './operations.ts';

const minuteMs = 60_000;

interface ConcurrentOperation extends Pick<Operation, 'about' | 'act'> {
  /** Where one thing is the point: whose only. */
  readonly of?: readonly string[];
  /** For how long the step stalls, where it is another time than usual. */
  readonly lateMs?: number;
}

export const concurrentOperations: Readonly<Record<string, ConcurrentOperation>> = {
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
      return server && world.nova.deleteArqs(server);
    },
  },
  'an operator who unbinds and binds': {
    about: ['instance'],
    act: (world) => {
      const server = last(world);
      return server && world.nova.unbindAndRebind(server);
    },
  },
  'an operator who unbinds and binds at once': {
    about: ['instance'],
    act: (world) => {
      const server = last(world);
      return server && world.nova.unbindAndRebind(server, 100);
    },
  },
  'a bind of ARQs that are not bound': {
    about: ['NIC'],
    of: ['a delete of ARQs that are not bound'],
    act: bindSpare,
  },
  'a boot of the host in a long stall': { about: ['host'], act: reboot, lateMs: 55_000 },
  'a slow programming, and a bind of the region as it is': {
    about: ['FPGA'],
    of: ['a delete of one of three while their host boots'],
    act: (world) => {
      world.stall('agent', 'device program', 30_000);
      inTurn(() => {}, 18_500, boot('fpga'))(world);
    },
  },
  'AWS IoT, in a long stall': {
    about: ['GPU'],
    of: ['a release that is overdue'],
    act: inTurn(isOut(false), 30_000, boot('vgpu')),
    lateMs: 55_000,
  },
  'mdevs that are made by hand, and a killed agent': {
    about: ['GPU'],
    of: ['a release of two by the host'],
    act: inTurn(makeMdevsByHand, 500, killAgents),
  },
  'a boot of the host, and a bind of all vGPUs after it': {
    about: ['GPU'],
    of: ['a release that its host is asked for again'],
    act: inTurn(reboot, 26_000, boot('vgpu2')),
    lateMs: 55_000,
  },
  'a boot of the host, and a bind of another function after it': {
    about: ['FPGA'],
    of: ['a region that an operator programs', 'a bind that programs an FPGA'],
    act: inTurn(reboot, 26_000, boot('fpga2')),
    lateMs: 55_000,
  },
  'two reports, the first of which takes long': {
    about: ['NIC'],
    of: ['a device that comes', 'a device that comes back', 'a NIC that is replaced'],
    act: (world) => {
      world.stall('inventory-reports', 'DynamoDB TransactWrite', 19_000);
      inTurn(unplug(nicAddress), 15_500, plug(nicAddress))(world);
    },
  },
  'a plain bind': { about: ['NIC'], act: boot('nic') },
  'a bind on the host': { about: ['GPU'], act: boot('vgpu') },
  'a bind of a region as it is': { about: ['FPGA'], act: boot('fpga') },
  'a bind of another function': { about: ['FPGA'], act: boot('fpga2') },
  'a bind of all': { about: ['NIC', 'GPU', 'FPGA'], act: boot('all') },
  'a GPU that a boot of the host no longer finds': {
    about: ['GPU'],
    of: ['a release that its host is asked for again'],
    act: inTurn(
      ({ hosts }) => {
        for (const { hardware } of hosts) hardware.present.delete(gpuAddress);
      },
      0,
      reboot,
    ),
  },
  'a GPU that goes': { about: ['GPU'], act: unplug(gpuAddress) },
  'a delete of one of its ARQs': { about: ['instance'], act: deleteOneArq(-1) },
  'a delete of one of its ARQs, and a bind of what it had': {
    about: ['NIC'],
    of: ['a delete of two'],
    act: inTurn(inTurn(deleteOneArq(-1), 500, withoutAllocation), 500, boot('nic')),
  },
  'a bind of other ARQs for it': { about: ['instance'], act: bindOthers },
  'a GPU that goes and comes': {
    about: ['GPU'],
    act: inTurn(unplug(gpuAddress), 7000, plug(gpuAddress)),
  },
  'a NIC that goes and comes': {
    about: ['NIC'],
    act: inTurn(unplug(nicAddress), 7000, plug(nicAddress)),
  },
  'a delete of its server': {
    about: ['instance'],
    of: ['a device that comes back', 'a boot that goes on waiting for an image'],
    act: deleteLast,
  },
  'a plain bind, a little later': {
    about: ['NIC'],
    of: ['a device that comes', 'a device that comes back'],
    act: inTurn(() => {}, 7000, boot('nic')),
  },
  'a host that cannot clean up': {
    about: ['GPU'],
    of: ['a bind of one behind a release'],
    act: inTurn(isBroken(true), 60_000, isBroken(false)),
  },
  'a backup that is put back': {
    about: ['NIC', 'FPGA'],
    of: ['a bind of a plain device', 'a region that an operator programs'],
    act: inTurn(inTurn(withholdAll, 60_000, goRound), 5 * minuteMs, goRound),
  },
  'mdevs that somebody makes by hand': {
    about: ['GPU'],
    of: ['a bind that needs its host', 'a bind that the GPU refuses', 'a bind behind a release'],
    act: inTurn(isBroken(false), 0, makeMdevsByHand),
  },
  'an operator who unbinds and binds while AWS IoT is out': {
    about: ['instance'],
    of: [
      'a bind that fails on the host',
      'a delete of one of two',
      'a boot of which not all can be made again',
    ],
    act: inTurn(
      inTurn(isOut(true), 0, (world) => {
        const server = last(world);
        return server && world.nova.unbindAndRebind(server, 100);
      }),
      60_000,
      isOut(false),
    ),
  },
  'a boot of the host of which Nova does not hear, and a bind past Placement': {
    about: ['GPU'],
    of: ['a delete of one of two that are being bound'],
    act: inTurn(
      inTurn(inTurn(inTurn(isUnheard(true), 0, isOut(false)), 500, reboot), 6000, bindUnknown),
      30_000,
      isUnheard(false),
    ),
  },
  'a boot of the host, and a bind of another function': {
    about: ['FPGA'],
    of: ['a region that an operator programs'],
    act: inTurn(reboot, 6000, boot('fpga2')),
  },
  'boots of the host, one upon another': {
    about: ['host'],
    of: ['a boot of the host'],
    act: (world) => {
      world.stall('inventory-reports', 'DynamoDB TransactWrite', 19_000);
      inTurn(reboot, 15_500, reboot)(world);
    },
  },
  'Placement, and a look at each provider': {
    about: ['host'],
    of: ['a clone of a host whose NIC is gone', 'an end of a conflict on a host whose NIC is gone'],
    act: inTurn(isPlacementOut(false), 100, goRound),
  },
  'an operator who ends the conflict': {
    about: ['host'],
    of: ['an end of a conflict of identity', 'a report of a host in conflict'],
    act: endConflicts,
  },
  'a clone of the host': {
    about: ['host'],
    of: ['an end of a conflict of identity', 'a boot of the host'],
    act: inTurn(cloneHosts, 9 * minuteMs, endConflicts),
  },
  'AWS IoT, just in time': {
    about: ['instance'],
    of: ['a bind that is overdue'],
    act: isOut(false),
  },
  'a deadline, and a bind past Placement': {
    about: ['instance'],
    of: ['a delete of a bind that is overdue'],
    act: inTurn(() => {}, 13_000, bindUnknown),
  },
  'a NIC that comes': { about: ['NIC'], act: plug(nicAddress) },
  'a NIC that goes': { about: ['NIC'], act: unplug(nicAddress) },
  'a NIC that goes, its rows after a while': {
    about: ['NIC'],
    of: ['a bind of a plain device'],
    act: (world) => {
      for (const _ of ['handle', 'the other']) {
        world.stall('inventory-reports', 'DynamoDB Delete', 20_000);
      }
      unplug(nicAddress)(world);
    },
  },
  'an FPGA that goes': { about: ['FPGA'], act: unplug(fpgaAddress) },
  'a boot of the host': { about: ['host'], act: reboot },
  'a boot of the host, and its bind’s message again': {
    about: ['host'],
    of: ['a bind of whose end is told once'],
    act: inTurn(reboot, 10_000, startBindsAgain),
  },
  'another agent': {
    about: ['host'],
    act: killAgents,
  },
  'an operator who programs': { about: ['FPGA'], act: programRegion },
  'an operator who frees by force': { about: ['FPGA'], act: freeByForce },
  'an operator who takes all out': {
    about: ['GPU'],
    of: ['a device that goes'],
    act: takeOut,
  },
  'an operator who takes all out, and gives it back': {
    about: ['GPU'],
    of: ['a device that goes'],
    act: inTurn(takeOut, 60_000, giveBack),
  },
  'an operator who programs, frees it by force, and takes it out': {
    about: ['FPGA'],
    act: inTurn(
      inTurn(inTurn(isOut(true), 0, programRegion), 2000, freeByForce),
      4000,
      inTurn(unplug(fpgaAddress), 3000, isOut(false)),
    ),
  },
  'others under way that go while AWS IoT is out': {
    about: ['FPGA'],
    act: inTurn(
      inTurn(inTurn(isOut(true), 0, boot('fpga2')), 4000, (world) => {
        const server = last(world);
        return server && world.nova.deleteArqs(server);
      }),
      40_000,
      isOut(false),
    ),
  },
  'others that come and go on a slow host': {
    about: ['GPU'],
    act: inTurn(
      inTurn(boot('vgpu2'), 6000, deleteLast),
      6500,
      inTurn(killAgents, 500, boot('vgpu2')),
    ),
  },
  'the same profile': { about: ['profile'], act: makeProfile('one') },
  'its uuid for another profile': { about: ['profile'], act: makeProfile('two', profileUuid) },
  'the same profile anew': {
    about: ['profile'],
    act: inTurn(deleteProfile, 3000, makeProfile('one')),
  },
};

/** Whether they can meet. */
export function meet(operation: string, rival: string): boolean {
  const [ours, theirs] = [
    operations[operation]?.about ?? [],
    concurrentOperations[rival]?.about ?? [],
  ];
  const isMeant = concurrentOperations[rival]?.of?.includes(operation) ?? true;
  return isMeant && ours.some((subject) => theirs.includes(subject));
}
