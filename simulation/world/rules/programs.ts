// Programs of components: each ends, and says what the component runs.

import type { ComponentNote, Device } from '#core/domain/device/device.ts';
import type { AwaitedWork } from '#core/domain/host-work/host-work.ts';
import { toHandle } from '#core/store/rows/handle-rows.ts';
import { toDevice } from '#core/store/rows/inventory-rows.ts';
import { Violation } from '#simulation/violation.ts';
import type { World } from '#simulation/world/world.ts';

/** A program that awaits a power cycle, or the end of a server, lasts as long as that takes. */
export function mayLast(world: World, work: AwaitedWork): boolean {
  if (work.kind !== 'program' || !work.component) return false;
  const { noteId } = work.component;
  return readDevices(world).some(({ programs = [] }) =>
    programs.some(
      ({ id, state }) =>
        id === noteId && (state === 'awaiting-power-cycle' || state === 'draining'),
    ),
  );
}

/** @throws Violation */
export function checkPrograms(world: World): void {
  for (const device of readDevices(world)) {
    for (const note of device.programs ?? []) checkProgram(world, device, note);
    checkDisabled(device);
    checkBoard(world, device);
  }
}

function readDevices({ database }: World): Device[] {
  const rows = database.rows('inventory');
  return rows.filter(({ sk }) => String(sk).startsWith('DEVICE#')).map(toDevice);
}

function checkProgram(world: World, device: Device, { id, state, version }: ComponentNote): void {
  const board = boardOf(world, device);
  const { uuid, status, statusChange } = device;
  const fail = (problem: string) => {
    throw new Violation('L3', `the program of device ${uuid} ${problem}`);
  };
  if (state === 'started') fail('never ends');
  if (state === 'draining' && !isHeld(world, device)) fail('waits for handles that are free');
  if (state !== 'done' && status === 'enabled' && statusChange?.program === id) {
    fail(`is ${state}, and has enabled the device`);
  }
  if (state === 'done' && status === 'maintaining' && statusChange?.program === id) {
    fail('is done, and the device stays disabled');
  }
  if (!board) return;
  if (state === 'awaiting-power-cycle' && board.written !== version) {
    fail(`awaits a power cycle, but the board has ${board.written} for it`);
  }
  if (state === 'done' && (board.isTorn || board.version !== version)) {
    fail(`is done, but the board runs ${board.isTorn ? 'half an image' : board.version}`);
  }
}

/** A program that has disabled the device is the last of its component. */
function checkDisabled({ uuid, status, statusChange, programs = [] }: Device): void {
  const id = statusChange?.program;
  if (status === 'enabled' || !id || programs.some((note) => note.id === id)) return;
  throw new Violation('L3', `device ${uuid} is disabled by program ${id}, which has no note`);
}

/** No device whose component is half written is offered. */
function checkBoard(world: World, device: Device): void {
  const board = boardOf(world, device);
  if (!board?.isTorn || device.status === 'maintaining') return;
  if (device.health?.state === 'unhealthy') return;
  throw new Violation('L3', `device ${device.uuid} is offered with half an image`);
}

/** Undefined where the host is down, or the device is another one. */
function boardOf({ hosts }: World, { hostname, driver, isGone }: Device) {
  const host = hosts.find(({ name, isUp }) => name === hostname && isUp);
  return driver === 'sim_board' && !isGone ? host?.hardware.board : undefined;
}

function isHeld({ database }: World, { providers }: Device): boolean {
  return database
    .rows('inventory')
    .filter(({ pk, sk }) => String(sk).startsWith('HANDLE#') && isOneOf(String(pk), providers))
    .map(toHandle)
    .some(({ claim }) => claim !== undefined);
}

function isOneOf(pk: string, providers: readonly string[]): boolean {
  return providers.includes(pk.slice('RP#'.length));
}
