// Operations, one at a time, in a cloud without faults. At one of the steps a process dies, writes
// twice, or stalls while a concurrent operation happens.

import type { Rates } from '#simulation/faults.ts';
import {
  type Act,
  boot,
  cloneHosts,
  createSpare,
  deleteLast,
  deleteOneArq,
  deleteSpare,
  divideNic,
  endConflicts,
  first,
  forgetPresence,
  grantNic,
  inTurn,
  isBlindAfterKill,
  isBroken,
  isCellDown,
  isIotOut,
  isNovaOut,
  isOpenStackEmpty,
  isPlacementOut,
  keepImages,
  killAgents,
  loseImages,
  plug,
  programRegion,
  reboot,
  replaceDisks,
  unplug,
} from '#simulation/world/acts.ts';
import { type Extra, gpuAddress, nicAddress, secondRegion } from '#simulation/world/hardware.ts';
import { spendQuota } from '#simulation/world/rules/limits/quotas.ts';
import { baselineOperations } from './baselines.ts';
import { boardOperations } from './boards.ts';
import { cardOperations } from './cards.ts';
import { cleaningOperations } from './cleanings.ts';
import { neverBuiltOperations } from './never-built.ts';
import { poolOperations } from './pools.ts';
import { profileOperations } from './profiles.ts';
import { startOperations } from './starts.ts';
import { treeOperations } from './trees.ts';

const minuteMs = 60_000;
/** The rows of a device and of a region stay until Placement is back. */
const removeDuringOutage = inTurn(
  inTurn(isPlacementOut(true), 0, unplug(nicAddress)),
  0,
  unplug(secondRegion),
);
/** Long enough for the heartbeats after a conflict of identity. */
export const quiescenceAfterConflictMs = 50 * minuteMs;

/** What an operation affects; operations without a common subject do not meet. */
type DeviceSubject = 'NIC' | 'GPU' | 'FPGA' | 'card' | 'tree' | 'board' | 'pool' | 'hold' | 'owner';
export type Subject = DeviceSubject | 'host' | 'instance' | 'profile' | 'quota' | 'baseline';

export interface Operation {
  readonly about: readonly Subject[];
  /** What happens before the operation, and for how long. */
  readonly prepare?: Act;
  readonly prepareMs?: number;
  readonly act: Act;
  /** Faults that still occur by chance. */
  readonly rates?: Rates;
  /** How long the world runs after the operation, if not the usual time. */
  readonly quiescenceMs?: number;
  /** Hosts, each with a slot for a card that moves; without it one host without a slot. */
  readonly hostCount?: number;
  readonly extra?: Extra;
}

export const operations: Readonly<Record<string, Operation>> = {
  'bind two NICs': { about: ['NIC', 'instance'], act: boot('nic2') },
  'bind a vGPU': { about: ['GPU', 'host', 'instance'], act: boot('vgpu') },
  'bind a vGPU when AWS IoT is back': {
    about: ['instance'],
    // nova-compute has listed the ARQs by then, and waits for the event.
    prepare: inTurn(isIotOut(true), 0, boot('vgpu')),
    prepareMs: 40_000,
    act: isIotOut(false),
  },
  'share a job between two vGPUs': {
    about: ['GPU', 'host', 'instance'],
    prepare: inTurn(isIotOut(true), 0, inTurn(boot('vgpu'), 100, boot('vgpu'))),
    prepareMs: 20_000,
    act: isIotOut(false),
  },
  'share a job between two vGPUs of a broken GPU': {
    about: ['GPU'],
    prepare: inTurn(
      inTurn(isIotOut(true), 0, isBroken(true)),
      0,
      inTurn(boot('vgpu'), 100, boot('vgpu')),
    ),
    prepareMs: 20_000,
    act: inTurn(isIotOut(false), 20_000, isBroken(false)),
  },
  'bind an FPGA that holds its image': {
    about: ['FPGA', 'instance'],
    prepare: inTurn(boot('fpga1'), 30_000, deleteLast),
    act: boot('fpga1'),
  },
  'bind and program an FPGA': { about: ['FPGA', 'host', 'instance'], act: boot('fpga1') },
  'bind an FPGA with a wrong image': {
    about: ['FPGA', 'host', 'instance'],
    act: boot('fpga-wrong'),
  },
  'bind a vGPU of a broken GPU': {
    about: ['GPU', 'host'],
    prepare: isBroken(true),
    act: boot('vgpu'),
  },
  'bind a vGPU, GPU unreadable after a kill': {
    about: ['GPU'],
    // The resumed step cannot read the GPU; the release that follows can.
    prepare: isBlindAfterKill(2300),
    act: boot('vgpu'),
    rates: {},
  },
  'delete a server with a NIC': {
    about: ['NIC', 'instance'],
    prepare: boot('nic'),
    act: (world) => world.nova.delete(first(world)),
  },
  'release a vGPU': {
    about: ['GPU', 'host', 'instance'],
    prepare: boot('vgpu'),
    act: (world) => world.nova.delete(first(world)),
  },
  'unbind and rebind a vGPU': {
    about: ['GPU', 'host', 'instance'],
    prepare: boot('vgpu'),
    act: (world) => world.nova.unbindAndRebind(first(world)),
  },
  'delete a server with all device types': {
    about: ['NIC', 'GPU', 'FPGA', 'host', 'instance'],
    prepare: boot('all'),
    act: (world) => world.nova.delete(first(world)),
  },
  'delete unbound ARQs': {
    about: ['NIC'],
    prepare: inTurn(boot('nic'), 10_000, createSpare),
    act: deleteSpare,
  },
  'delete one ARQ of three after a host reboot': {
    about: ['FPGA', 'host', 'instance'],
    // The control plane has known the reboot for 15 s, and has not acted on it yet.
    prepare: inTurn(boot('all'), 30_000, reboot),
    prepareMs: 47_000,
    act: deleteOneArq(-1),
  },
  'delete one ARQ of three after a reboot that lost the image': {
    about: ['FPGA', 'instance'],
    prepare: inTurn(boot('all'), 30_000, inTurn(loseImages, 0, reboot)),
    prepareMs: 47_000,
    act: deleteOneArq(-1),
  },
  'delete a server after a reboot that lost the image': {
    about: ['FPGA', 'instance'],
    prepare: inTurn(boot('fpga1'), 30_000, inTurn(loseImages, 0, reboot)),
    prepareMs: 47_000,
    act: (world) => world.nova.delete(first(world)),
  },
  'delete one ARQ of two': {
    about: ['NIC', 'instance'],
    prepare: boot('nic2'),
    act: deleteOneArq(0),
  },
  'delete a server with two NICs': {
    about: ['NIC'],
    prepare: boot('nic2'),
    act: (world) => world.nova.delete(first(world)),
  },
  'bind an FPGA without an image': { about: ['FPGA', 'instance'], act: boot('fpga') },
  'reboot a host with two servers on one region': {
    about: ['FPGA', 'host', 'instance'],
    prepare: inTurn(boot('fpga1'), 20_000, boot('fpga1')),
    // The host's comparison with Placement is over: only the sync itself repairs what it wrote.
    prepareMs: 15 * minuteMs,
    act: reboot,
  },
  'bind a vGPU during a release': {
    about: ['GPU'],
    prepare: boot('vgpu2'),
    act: (world) => Promise.resolve(deleteLast(world)).then(() => boot('vgpu')(world)),
  },
  'bind two vGPUs during a release': {
    about: ['GPU', 'host', 'instance'],
    prepare: boot('vgpu2'),
    act: inTurn(deleteLast, 30, boot('vgpu2')),
  },
  'replug a bound NIC': {
    about: ['NIC', 'host', 'instance'],
    prepare: inTurn(boot('nic2'), 20_000, unplug(nicAddress)),
    act: plug(nicAddress),
  },
  'reprovision after a short Glance outage': {
    about: ['FPGA', 'host', 'instance'],
    prepare: inTurn(boot('all'), 20_000, (world) => {
      world.openstack.outages.add('Glance');
      loseImages(world);
      reboot(world);
    }),
    prepareMs: 6 * minuteMs,
    act: ({ openstack }) => void openstack.outages.delete('Glance'),
  },
  'Nova finds an instance after 3 minutes': {
    about: ['GPU', 'instance'],
    prepare: inTurn(boot('vgpu'), 10_000, isCellDown(true)),
    prepareMs: 3 * minuteMs,
    act: isCellDown(false),
  },
  'plug in a NIC': { about: ['NIC', 'host'], prepare: unplug(nicAddress), act: plug(nicAddress) },
  'let a project program the NIC': { about: ['NIC', 'host'], act: grantNic },
  'divide a NIC further': { about: ['NIC', 'host'], act: divideNic },
  'unplug a GPU': { about: ['GPU', 'host'], act: unplug(gpuAddress) },
  'reboot the host': {
    about: ['GPU', 'FPGA', 'host', 'instance'],
    prepare: boot('all'),
    act: reboot,
  },
  'reboot the host, which has lost its state files': {
    about: ['GPU', 'FPGA', 'host', 'instance'],
    prepare: boot('all'),
    act: inTurn(replaceDisks, 0, reboot),
  },
  'reboot the host after a release, job event late': {
    about: ['GPU', 'host'],
    prepare: boot('vgpu2'),
    // The consumer that stalls exceeds its timeout: the event comes again half a minute later.
    act: (world) => {
      world.stall('job-events', 'DynamoDB Get', 60_000);
      inTurn(deleteLast, 3000, reboot)(world);
    },
    rates: {},
  },
  'bind a vGPU before the cloud knows of a boot': {
    about: ['GPU', 'host', 'instance'],
    act: (world) => {
      world.stall('inventory-reports', 'DynamoDB', 8000);
      inTurn(reboot, 2500, boot('vgpu'))(world);
    },
  },
  'bind a vGPU, job events delivered once': {
    about: ['host'],
    act: boot('vgpu'),
    rates: {},
  },
  'bind a vGPU, job events lost, and no token when Nova gives up': {
    about: ['GPU'],
    // Without a token Nova cannot delete the ARQs: only the deadline ends the bind.
    act: inTurn(
      inTurn(boot('vgpu'), 4 * minuteMs, ({ openstack }) => openstack.outages.add('Keystone')),
      8 * minuteMs,
      ({ openstack }) => openstack.outages.delete('Keystone'),
    ),
    rates: { 'IoT event lost': 0.9 },
  },
  'delete one ARQ of two during a bind': {
    about: ['GPU', 'instance'],
    prepare: inTurn(isIotOut(true), 0, boot('vgpu2')),
    prepareMs: 10_000,
    act: inTurn(deleteOneArq(0), 30_000, isIotOut(false)),
  },
  'reboot a host with a broken GPU': {
    about: ['host', 'instance'],
    prepare: inTurn(boot('vgpu'), 100, boot('vgpu')),
    act: inTurn(isBroken(true), 0, reboot),
    rates: {},
  },
  'reboot a host that keeps its FPGA image': {
    about: ['host', 'instance'],
    prepare: boot('fpga1'),
    act: inTurn(keepImages, 0, reboot),
  },
  'reprovision after a long Glance outage': {
    about: ['instance'],
    prepare: inTurn(boot('all'), 20_000, (world) => {
      world.openstack.outages.add('Glance');
      loseImages(world);
      reboot(world);
    }),
    prepareMs: 6 * minuteMs,
    act: inTurn(
      () => {},
      10 * minuteMs,
      ({ openstack }) => void openstack.outages.delete('Glance'),
    ),
  },
  'send a heartbeat': { about: ['host'], prepareMs: 17.75 * minuteMs, act: () => {} },
  'send the first report of a host': {
    about: ['host'],
    prepare: forgetPresence,
    prepareMs: 1000,
    act: killAgents,
  },
  'Nova and Placement find an instance after 3 minutes': {
    about: ['instance'],
    prepare: inTurn(boot('vgpu'), 40_000, isOpenStackEmpty(true)),
    prepareMs: 3 * minuteMs,
    act: isOpenStackEmpty(false),
  },
  'Nova finds an instance after 12 minutes': {
    about: ['instance'],
    prepare: inTurn(boot('vgpu'), 10_000, isCellDown(true)),
    act: inTurn(() => {}, 12 * minuteMs, isCellDown(false)),
  },
  'release two vGPUs': {
    about: ['GPU'],
    prepare: boot('vgpu2'),
    act: deleteLast,
  },
  'exceed the deadline of a release': {
    about: ['GPU', 'host'],
    prepare: inTurn(boot('vgpu'), 10_000, inTurn(isIotOut(true), 0, deleteLast)),
    prepareMs: 305_000,
    act: inTurn(() => {}, 90_000, isIotOut(false)),
  },
  'report from a host in identity conflict': {
    about: ['host'],
    prepare: inTurn(boot('vgpu'), 20_000, cloneHosts),
    prepareMs: 23 * minuteMs,
    act: inTurn(killAgents, 2 * minuteMs, endConflicts),
    quiescenceMs: quiescenceAfterConflictMs,
  },
  'Nova and Placement find an instance after 6 minutes': {
    about: ['instance'],
    prepare: inTurn(boot('vgpu'), 40_000, isOpenStackEmpty(true)),
    prepareMs: 3 * minuteMs,
    act: inTurn(() => {}, 3 * minuteMs, isOpenStackEmpty(false)),
  },
  'exceed the deadline of a bind': {
    about: ['instance'],
    prepare: inTurn(isIotOut(true), 0, boot('vgpu')),
    prepareMs: 185_000,
    act: inTurn(() => {}, 30_000, isIotOut(false)),
  },
  'delete the ARQs of an overdue bind': {
    about: ['instance', 'GPU'],
    prepare: inTurn(inTurn(isIotOut(true), 0, isNovaOut(true)), 0, boot('vgpu2')),
    prepareMs: 185_000,
    act: inTurn(
      (world) => world.nova.deleteArqs(first(world)),
      40_000,
      inTurn(isIotOut(false), 0, isNovaOut(false)),
    ),
  },
  'clone the host': {
    about: ['host', 'GPU'],
    prepare: boot('vgpu'),
    act: inTurn(cloneHosts, 23 * minuteMs, endConflicts),
    quiescenceMs: quiescenceAfterConflictMs,
  },
  'clone a host without its NIC': {
    about: ['host'],
    prepare: inTurn(plug(secondRegion), minuteMs, removeDuringOutage),
    prepareMs: 2 * minuteMs,
    act: inTurn(
      inTurn(cloneHosts, minuteMs, isPlacementOut(false)),
      23 * minuteMs,
      inTurn(endConflicts, minuteMs, plug(nicAddress)),
    ),
    quiescenceMs: quiescenceAfterConflictMs,
  },
  'end an identity conflict': {
    about: ['host', 'GPU', 'instance'],
    prepare: inTurn(boot('vgpu'), 20_000, cloneHosts),
    prepareMs: 23 * minuteMs,
    act: inTurn(endConflicts, 1000, killAgents),
    quiescenceMs: quiescenceAfterConflictMs,
  },
  'end an identity conflict without the NIC': {
    about: ['host'],
    prepare: inTurn(inTurn(plug(secondRegion), minuteMs, removeDuringOutage), 80_000, cloneHosts),
    prepareMs: 24 * minuteMs,
    act: inTurn(inTurn(endConflicts, 1000, killAgents), 2 * minuteMs, isPlacementOut(false)),
    quiescenceMs: quiescenceAfterConflictMs,
  },
  'bind a vGPU at the quota': { about: ['quota'], prepare: spendQuota, act: boot('vgpu') },
  'program a region': { about: ['FPGA', 'host'], act: programRegion },
  ...boardOperations,
  ...cardOperations,
  ...cleaningOperations,
  ...profileOperations,
  ...baselineOperations,
  ...treeOperations,
  ...neverBuiltOperations,
  ...startOperations,
  ...poolOperations,
};
