// A device whose component an operator programs.

import { sweep } from '#core/operations/work-ends/sweep.ts';
import { toDevice } from '#core/store/rows/inventory-rows.ts';
import {
  type Act,
  asAdmin,
  deleteLast,
  inTurn,
  isBroken,
  killAgents,
  plug,
  reboot,
  replaceDisks,
  unplug,
} from '#simulation/world/acts.ts';
import {
  boardAddress,
  boardComponent,
  boardRegion,
} from '#simulation/world/drivers/board-driver.ts';
import type { Profile } from '#simulation/world/openstack/nova.ts';
import { firmware } from '#simulation/world/profiles.ts';
import type { World } from '#simulation/world/world.ts';
import type { Operation } from './operations.ts';

const minuteMs = 60_000;
const profile: Profile = {
  name: 'board',
  groups: [{ 'resources:CUSTOM_BOARD': '1', 'trait:CUSTOM_SIM_BOARD': 'required' }],
};

const createProfile: Act = (world) => asAdmin(world, 'POST', '/device_profiles', [profile]);
const bootServer: Act = (world) => world.nova.boot(profile);
/** A server has the board. */
const useBoard = inTurn(createProfile, 10_000, bootServer);

const program =
  (number: 0 | 1, more: { readonly drain?: true } = {}): Act =>
  (world) => {
    const [path, value] = [`/firmware/${boardComponent}`, firmware[number]?.id];
    return asAdmin(world, 'PATCH', `/devices/${boardUuid(world)}`, [
      { op: 'add', path, value, ...more },
    ]);
  };

const drainAndProgram = program(0, { drain: true });

function boardUuid({ database }: World): string {
  const rows = database.rows('inventory').filter(({ sk }) => String(sk).startsWith('DEVICE#'));
  return rows.map(toDevice).find(({ driver }) => driver === 'sim_board')?.uuid ?? '';
}

const disable: Act = async (world) => {
  const uuid = boardUuid(world);
  const { status } = await asAdmin(world, 'POST', `/devices/${uuid}/disable`);
  if (status === 204) world.disabled.add(uuid);
};

const enable: Act = async (world) => {
  const uuid = boardUuid(world);
  world.disabled.delete(uuid);
  await asAdmin(world, 'POST', `/devices/${uuid}/enable`);
};

/** Its answer may be lost, so a server may have the device from the request on. */
const forceRelease: Act = async (world) => {
  const boards = world.hosts.flatMap(({ hardware }) => hardware.board ?? []);
  for (const each of boards) each.isGivenUp = true;
  const path = `/devices/${boardUuid(world)}/force_release`;
  const { status } = await asAdmin(world, 'POST', path);
  if (status === 409) for (const each of boards) each.isGivenUp = false;
};

/** New images run after a power cycle only. */
const needPowerCycle: Act = ({ hosts }) => {
  for (const { hardware } of hosts) if (hardware.board) hardware.board.needsPowerCycle = true;
};

const bootWarm =
  (isWarm: boolean): Act =>
  ({ hosts }) => {
    for (const { hardware } of hosts) if (hardware.board) hardware.board.isWarm = isWarm;
  };

const awaitPowerCycle = inTurn(createProfile, 0, inTurn(needPowerCycle, 0, program(0)));
const giveUpAndBind = inTurn(forceRelease, 2000, inTurn(enable, 2000, bootServer));

const rebootFor =
  (milliseconds: number): Act =>
  ({ hosts }) => {
    for (const host of hosts) host.reboot(milliseconds);
  };

/** EventBridge may start the sweep twice. */
const sweepNow: Act = ({ depsFor, spawn }) => sweep(depsFor(spawn('sweep'))).catch(() => {});

const about = ['board'] as const;
const board = { about, extra: 'board' } as const;

export const boardOperations: Readonly<Record<string, Operation>> = {
  'program a component': { ...board, prepare: createProfile, act: program(0) },
  'bind a device that can be programmed': { ...board, prepare: createProfile, act: bootServer },
  'drain a device and program it': {
    ...board,
    prepare: useBoard,
    act: inTurn(drainAndProgram, 5000, deleteLast),
  },
  'delete the server of a drained device': {
    ...board,
    prepare: inTurn(useBoard, 20_000, drainAndProgram),
    act: deleteLast,
  },
  'wait for the server of a drained device': {
    ...board,
    prepare: inTurn(useBoard, 20_000, drainAndProgram),
    act: () => {},
  },
  'drain a device with a region': {
    ...board,
    prepare: inTurn(plug(boardRegion), 0, useBoard),
    act: drainAndProgram,
  },
  'reboot the host during a program': {
    ...board,
    prepare: createProfile,
    act: inTurn(program(0), 6000, reboot),
  },
  'program a component of a broken device': {
    ...board,
    prepare: inTurn(createProfile, 0, isBroken(true)),
    act: inTurn(program(0), 20_000, inTurn(isBroken(false), 0, program(1))),
  },
  'program a component of a broken device, job event late': {
    ...board,
    prepare: inTurn(createProfile, 0, isBroken(true)),
    act: (world) => {
      world.stall('job-events', 'DynamoDB TransactWrite', 18_000);
      inTurn(program(0), 20_000, inTurn(isBroken(false), 0, program(1)))(world);
    },
  },
  'program a component that awaits a power cycle': {
    ...board,
    prepare: inTurn(createProfile, 0, needPowerCycle),
    act: inTurn(program(0), 20_000, reboot),
  },
  'reboot the host of a component that awaits it, job event late': {
    ...board,
    prepare: inTurn(createProfile, 0, needPowerCycle),
    // The consumer that stalls exceeds its timeout: the event comes again half a minute later.
    act: (world) => {
      world.stall('job-events', 'DynamoDB TransactWrite', 60_000);
      inTurn(program(0), 27_000, reboot)(world);
    },
    rates: {},
  },
  'reboot the host, which is no power cycle': {
    ...board,
    prepare: inTurn(
      inTurn(createProfile, 0, needPowerCycle),
      0,
      inTurn(bootWarm(true), 0, program(0)),
    ),
    act: reboot,
  },
  'give up a program that awaits a power cycle': {
    ...board,
    prepare: awaitPowerCycle,
    act: forceRelease,
  },
  'reboot the host of a component that awaits it, files lost': {
    ...board,
    // The boot is no power cycle, so the agent writes the image again.
    prepare: inTurn(bootWarm(true), 0, awaitPowerCycle),
    act: inTurn(replaceDisks, 0, reboot),
  },
  'lose the host for longer than a program may take': {
    ...board,
    prepare: inTurn(createProfile, 0, inTurn(program(0), 6000, rebootFor(76 * minuteMs))),
    prepareMs: 75 * minuteMs,
    act: () => {},
  },
};

interface Beside extends Pick<Operation, 'about' | 'act'> {
  /** The operations beside which it runs. */
  readonly of: readonly string[];
  readonly lateMs?: number;
}

export const concurrentBoardOperations: Readonly<Record<string, Beside>> = {
  'bind the device': {
    about,
    of: ['program a component', 'drain a device and program it'],
    act: bootServer,
  },
  'delete the server of the device': {
    about,
    of: ['drain a device with a region'],
    act: deleteLast,
  },
  'delete the server of the device, and sweep': {
    about,
    of: ['wait for the server of a drained device'],
    act: inTurn(deleteLast, 3000, sweepNow),
  },
  'enable the device and bind it': {
    about,
    of: ['program a component of a broken device', 'give up a program that awaits a power cycle'],
    act: inTurn(enable, 3000, bootServer),
  },
  'enable the device, sweep, and disable it': {
    about,
    of: ['delete the server of a drained device'],
    act: inTurn(inTurn(enable, 2000, sweepNow), 5000, disable),
  },
  'disable the device': { about, of: ['program a component'], act: disable },
  'program the device': {
    about,
    of: ['program a component', 'bind a device that can be programmed'],
    act: program(0),
  },
  'program another image': {
    about,
    of: ['program a component', 'drain a device and program it'],
    act: program(1),
  },
  'drain and program the device': {
    about,
    of: ['bind a device that can be programmed'],
    act: drainAndProgram,
  },
  'give up the program, enable the device and bind it': {
    about,
    of: ['reboot the host of a component that awaits it, files lost'],
    act: giveUpAndBind,
    lateMs: 20_000,
  },
  'reboot the host of the program': {
    about,
    of: ['give up a program that awaits a power cycle'],
    act: reboot,
    lateMs: 40_000,
  },
  'force release the device': {
    about,
    of: ['lose the host for longer than a program may take'],
    act: forceRelease,
  },
  'restart the agent during a program': {
    about,
    of: ['program a component that awaits a power cycle'],
    act: killAgents,
  },
  'reboot the host during the program, long stall': {
    about,
    of: ['program a component', 'program a component that awaits a power cycle'],
    act: reboot,
    lateMs: 55_000,
  },
  'enable the device and unplug it': {
    about,
    of: ['give up a program that awaits a power cycle'],
    act: inTurn(enable, 1000, unplug(boardAddress)),
  },
  'unplug the device': { about, of: ['program a component'], act: unplug(boardAddress) },
  'unplug the region of the device': {
    about,
    of: ['drain a device with a region'],
    act: unplug(boardRegion),
  },
};
