// Concurrent operations: what happens to a server, its host or its devices while an operation
// stalls.

import {
  bindOtherArqs,
  bindSpare,
  bindUnknown,
  boot,
  cloneHosts,
  compareAllHosts,
  createForeignMdevs,
  deleteLast,
  deleteOneArq,
  disableDevices,
  enableDevices,
  endConflicts,
  forceRelease,
  inTurn,
  isBlindAfterKill,
  isBroken,
  isIotOut,
  isNovaOut,
  isPlacementOut,
  killAgents,
  last,
  plug,
  programRegion,
  reboot,
  repeatBindMessages,
  replaceDisks,
  resetDevices,
  unplug,
  withholdAll,
  withLast,
  withoutAllocation,
} from '#simulation/world/acts.ts';
import { fpgaAddress, gpuAddress, nicAddress } from '#simulation/world/hardware.ts';
import { recountAll } from '#simulation/world/rules/limits/quotas.ts';
import { concurrentBaselineOperations } from './baselines.ts';
import { concurrentBoardOperations } from './boards.ts';
import { type Operation, operations, quiescenceAfterConflictMs } from './operations.ts';
import { concurrentPoolOperations } from './pools.ts';
import { concurrentProfileOperations } from './profiles.ts';
import { concurrentStartOperations } from './starts.ts';
import { concurrentTreeOperations } from './trees.ts';

const minuteMs = 60_000;

interface ConcurrentOperation extends Pick<Operation, 'about' | 'act' | 'quiescenceMs'> {
  /** The operations that it runs beside; without it, all about the same subject. */
  readonly of?: readonly string[];
  /** How long the step stalls, if not the usual time. */
  readonly lateMs?: number;
}

export const concurrentOperations: Readonly<Record<string, ConcurrentOperation>> = {
  'repeat the bind': {
    about: ['instance'],
    act: (world) => {
      const patch = last(world)?.patch;
      if (patch)
        void world.api(world.spawn('nova concurrent'), 'PATCH', '/accelerator_requests', patch);
    },
  },
  'bind the ARQs to another instance': {
    about: ['instance'],
    act: withLast((nova, server) => nova.bindElsewhere(server)),
  },
  'delete the ARQs': {
    about: ['instance'],
    act: withLast((nova, server) => nova.deleteArqs(server)),
  },
  'unbind and rebind': {
    about: ['instance'],
    act: withLast((nova, server) => nova.unbindAndRebind(server)),
  },
  'unbind and rebind at once': {
    about: ['instance'],
    act: withLast((nova, server) => nova.unbindAndRebind(server, 100)),
  },
  'bind the unbound ARQs': {
    about: ['NIC'],
    of: ['delete unbound ARQs'],
    act: bindSpare,
  },
  'bind a vGPU': { about: ['quota'], act: boot('vgpu') },
  'bind two NICs': { about: ['NIC'], of: ['divide a NIC further'], act: boot('nic2') },
  'recount the quota': { about: ['quota'], act: recountAll },
  'recount the quota and bind a vGPU': {
    about: ['quota'],
    act: inTurn(recountAll, 3000, boot('vgpu')),
  },
  'reboot the host, long stall': { about: ['host'], act: reboot, lateMs: 55_000 },
  'program slowly and bind without an image': {
    about: ['FPGA'],
    of: [
      'delete one ARQ of three after a host reboot',
      'delete one ARQ of three after a reboot that lost the image',
      'delete a server after a reboot that lost the image',
    ],
    act: (world) => {
      world.stall('agent', 'device program', 30_000);
      inTurn(() => {}, 18_500, boot('fpga'))(world);
    },
  },
  'end the AWS IoT outage, long stall': {
    about: ['GPU'],
    of: ['exceed the deadline of a release'],
    act: inTurn(isIotOut(false), 30_000, boot('vgpu')),
    lateMs: 55_000,
  },
  'create foreign mdevs and kill the agent': {
    about: ['GPU'],
    of: ['release two vGPUs'],
    act: inTurn(createForeignMdevs, 500, killAgents),
  },
  'reboot the host and bind all vGPUs, long stall': {
    about: ['GPU'],
    of: ['retry a failed release'],
    act: inTurn(reboot, 26_000, boot('vgpu2')),
    lateMs: 55_000,
  },
  'reboot the host and bind another function, long stall': {
    about: ['FPGA'],
    of: ['program a region', 'bind and program an FPGA'],
    act: inTurn(reboot, 26_000, boot('fpga2')),
    lateMs: 55_000,
  },
  'send two reports, the first one slow': {
    about: ['NIC'],
    of: ['plug in a NIC', 'replug a bound NIC'],
    act: (world) => {
      world.stall('inventory-reports', 'DynamoDB TransactWrite', 19_000);
      inTurn(unplug(nicAddress), 15_500, plug(nicAddress))(world);
    },
  },
  ...concurrentBoardOperations,
  ...concurrentPoolOperations,
  ...concurrentProfileOperations,
  ...concurrentBaselineOperations,
  ...concurrentTreeOperations,
  ...concurrentStartOperations,
  'bind a NIC': { about: ['NIC', 'hold'], act: boot('nic') },
  'bind one vGPU': { about: ['GPU'], act: boot('vgpu') },
  'bind an FPGA without an image': { about: ['FPGA'], act: boot('fpga') },
  'bind another function': { about: ['FPGA'], act: boot('fpga2') },
  'bind all device types': { about: ['NIC', 'GPU', 'FPGA'], act: boot('all') },
  'reboot the host without its GPU': {
    about: ['GPU'],
    of: ['retry a failed release'],
    act: inTurn(
      ({ hosts }) => {
        for (const { hardware } of hosts) hardware.present.delete(gpuAddress);
      },
      0,
      reboot,
    ),
  },
  'unplug the GPU': { about: ['GPU'], act: unplug(gpuAddress) },
  'delete one ARQ': { about: ['instance'], act: deleteOneArq(-1) },
  'delete one ARQ and bind its handle': {
    about: ['NIC'],
    of: ['delete a server with two NICs'],
    act: inTurn(inTurn(deleteOneArq(-1), 500, withoutAllocation), 500, boot('nic')),
  },
  'delete one ARQ and unplug the NIC': {
    about: ['NIC'],
    of: ['Nova and Placement find a server before the second look at it'],
    act: inTurn(deleteOneArq(-1), 500, unplug(nicAddress)),
  },
  'bind other ARQs to the instance': { about: ['instance'], act: bindOtherArqs },
  'replug the GPU': {
    about: ['GPU'],
    act: inTurn(unplug(gpuAddress), 7000, plug(gpuAddress)),
  },
  'replug the NIC': {
    about: ['NIC', 'hold'],
    act: inTurn(unplug(nicAddress), 7000, plug(nicAddress)),
  },
  'delete the server': {
    about: ['instance'],
    of: ['replug a bound NIC', 'reprovision after a long Glance outage'],
    act: deleteLast,
  },
  'bind a NIC after 7 seconds': {
    about: ['NIC'],
    of: ['plug in a NIC', 'replug a bound NIC', 'divide a NIC further'],
    act: inTurn(() => {}, 7000, boot('nic')),
  },
  'break the GPU for a minute': {
    about: ['GPU'],
    of: ['bind a vGPU during a release'],
    act: inTurn(isBroken(true), 60_000, isBroken(false)),
  },
  'restore a backup': {
    about: ['NIC', 'FPGA'],
    of: ['bind two NICs', 'program a region'],
    act: inTurn(inTurn(withholdAll, 60_000, compareAllHosts), 5 * minuteMs, compareAllHosts),
  },
  'create foreign mdevs': {
    about: ['GPU'],
    of: ['bind a vGPU', 'bind a vGPU of a broken GPU', 'bind two vGPUs during a release'],
    act: inTurn(isBroken(false), 0, createForeignMdevs),
  },
  'unbind and rebind during an AWS IoT outage': {
    about: ['instance'],
    of: [
      'bind an FPGA with a wrong image',
      'delete one ARQ of two',
      'reboot a host with a broken GPU',
    ],
    act: inTurn(
      inTurn(
        isIotOut(true),
        0,
        withLast((nova, server) => nova.unbindAndRebind(server, 100)),
      ),
      60_000,
      isIotOut(false),
    ),
  },
  'reboot the host during a Nova outage and bind past Placement': {
    about: ['GPU'],
    of: ['delete one ARQ of two during a bind'],
    act: inTurn(
      inTurn(inTurn(inTurn(isNovaOut(true), 0, isIotOut(false)), 500, reboot), 6000, bindUnknown),
      30_000,
      isNovaOut(false),
    ),
  },
  'reboot the host and bind another function': {
    about: ['FPGA'],
    of: ['program a region'],
    act: inTurn(reboot, 6000, boot('fpga2')),
  },
  'reboot the host twice': {
    about: ['host'],
    of: ['reboot the host'],
    act: (world) => {
      world.stall('inventory-reports', 'DynamoDB TransactWrite', 19_000);
      inTurn(reboot, 15_500, reboot)(world);
    },
  },
  'end the Placement outage and compare all hosts': {
    about: ['host'],
    of: ['clone a host without its NIC', 'end an identity conflict without the NIC'],
    act: inTurn(isPlacementOut(false), 100, compareAllHosts),
  },
  'end the identity conflict': {
    about: ['host'],
    of: ['end an identity conflict', 'report from a host in identity conflict'],
    act: endConflicts,
    quiescenceMs: quiescenceAfterConflictMs,
  },
  'clone the host': {
    about: ['host'],
    of: ['end an identity conflict', 'reboot the host'],
    act: inTurn(cloneHosts, 24 * minuteMs, endConflicts),
    quiescenceMs: quiescenceAfterConflictMs,
  },
  'end the AWS IoT outage': {
    about: ['instance'],
    of: ['exceed the deadline of a bind'],
    act: isIotOut(false),
  },
  'bind past Placement after 13 seconds': {
    about: ['instance'],
    of: ['delete the ARQs of an overdue bind'],
    act: inTurn(() => {}, 13_000, bindUnknown),
  },
  'plug in the NIC': { about: ['NIC'], act: plug(nicAddress) },
  'unplug the NIC': { about: ['NIC', 'hold'], act: unplug(nicAddress) },
  'unplug the NIC, rows deleted late': {
    about: ['NIC'],
    of: ['bind two NICs'],
    act: (world) => {
      for (const _ of ['handle', 'the other']) {
        world.stall('inventory-reports', 'DynamoDB Delete', 20_000);
      }
      unplug(nicAddress)(world);
    },
  },
  'unplug the FPGA': { about: ['FPGA'], act: unplug(fpgaAddress) },
  'reboot the host': { about: ['host'], act: reboot },
  'reboot the host, which has lost its state files': {
    about: ['host'],
    act: inTurn(replaceDisks, 0, reboot),
  },
  'reboot the host and repeat the bind message': {
    about: ['host'],
    of: ['bind a vGPU, job events delivered once'],
    // The agent cannot prepare the vGPU again by itself.
    act: inTurn(inTurn(isBlindAfterKill(12_000), 0, reboot), 10_000, repeatBindMessages),
  },
  'restart the agent': {
    about: ['host'],
    act: killAgents,
  },
  'program the region': { about: ['FPGA'], act: programRegion },
  'force release': { about: ['FPGA'], act: forceRelease },
  'reset all devices': { about: ['GPU', 'FPGA'], act: resetDevices },
  'disable all devices': {
    about: ['GPU'],
    of: ['unplug a GPU'],
    act: disableDevices,
  },
  'disable and enable all devices': {
    about: ['GPU'],
    of: ['unplug a GPU'],
    act: inTurn(disableDevices, 60_000, enableDevices),
  },
  'program, force release and unplug the FPGA': {
    about: ['FPGA'],
    act: inTurn(
      inTurn(inTurn(isIotOut(true), 0, programRegion), 2000, forceRelease),
      4000,
      inTurn(unplug(fpgaAddress), 3000, isIotOut(false)),
    ),
  },
  'bind and delete during an AWS IoT outage': {
    about: ['FPGA'],
    act: inTurn(
      inTurn(
        inTurn(isIotOut(true), 0, boot('fpga2')),
        4000,
        withLast((nova, server) => nova.deleteArqs(server)),
      ),
      40_000,
      isIotOut(false),
    ),
  },
  'bind and release vGPUs during agent restarts': {
    about: ['GPU'],
    act: inTurn(
      inTurn(boot('vgpu2'), 6000, deleteLast),
      6500,
      inTurn(killAgents, 500, boot('vgpu2')),
    ),
  },
};

/** Whether the concurrent operation can affect the operation. */
export function meet(operation: string, concurrent: string): boolean {
  const [ours, theirs] = [
    operations[operation]?.about ?? [],
    concurrentOperations[concurrent]?.about ?? [],
  ];
  const isMeant = concurrentOperations[concurrent]?.of?.includes(operation) ?? true;
  return isMeant && ours.some((subject) => theirs.includes(subject));
}
