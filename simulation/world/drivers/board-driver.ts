// A device with a component that is programmed, such as its firmware, and its driver.

import { ImageRefused } from '#agent/images/image-check.ts';
import type { StateFiles } from '#agent/state/state-files.ts';
import {
  described,
  describedRegion,
  discoveryOf,
  pciHandles,
} from '#simulation/world/drivers/described.ts';
import type { HostParts, MakeDriver } from '#simulation/world/host.ts';
import type { Server } from '#simulation/world/openstack/nova.ts';

export const boardAddress = '0000:0a:00.0';
/** Present only where an operation plugs it in: a region of the board. */
export const boardRegion = 'board-region';
export const boardComponent = 'bmc';
export const boardModel = '19e5:0001';

export interface Board {
  /** What the component shows. */
  version: string;
  /** What the component runs after a power cycle, or when it is activated. */
  written?: string | undefined;
  /** A write has begun, and has not ended: what the component holds is not known. */
  isTorn: boolean;
  /** The component runs a new image only after a power cycle. */
  needsPowerCycle: boolean;
  /** An operator has given up the program before the power cycle, and may enable the device. */
  isGivenUp: boolean;
  /** The next boots of the host are no power cycles. */
  isWarm: boolean;
  /** Servers that use a handle of it. */
  readonly users: Set<Server>;
}

/** How long a write takes. */
const writeMs = 8000;

export function createBoard(): Board {
  const state = { version: '1.0', isTorn: false, needsPowerCycle: false, isGivenUp: false };
  return { ...state, isWarm: false, users: new Set() };
}

/** The host boots. */
export function startBoard(board: Board): void {
  board.users.clear();
  if (!board.isWarm) runWritten(board);
}

function runWritten(board: Board): void {
  board.version = board.written ?? board.version;
  board.written = undefined;
}

/** No read of the disk where no component can have been programmed. */
export function boardFiles(files: StateFiles, { extra }: HostParts): StateFiles {
  return extra === 'board' ? files : { ...files, read: async () => undefined };
}

export const boardDriver: MakeDriver = (process, hardware, parts) => {
  const { timeline, faults, images, violate } = parts;
  const onBoard = <T>(name: string, act: (board: Board) => T) =>
    timeline.effect(process, name, () => {
      const { board, present } = hardware;
      if (!board || !present.has(boardAddress)) throw new Error('ENODEV');
      return act(board);
    });
  const versionOf = (imagePath: string) => {
    const image = images.find(({ id }) => id === imagePath);
    return image?.properties?.['accel:version'];
  };
  const failIfBroken = () => {
    if (hardware.isBroken || faults.happens('device refuses')) throw new Error('EIO');
  };
  return {
    name: 'sim_board',
    discover: () =>
      timeline.effect(process, 'device read', () =>
        discoveryOf(hardware, boardAddress, {
          ...described(boardAddress, 'sim_board', 'FPGA', '0x19e5'),
          offers: {
            resource_class: 'CUSTOM_BOARD',
            traits: ['CUSTOM_SIM_BOARD'],
            attach_handles: pciHandles(2, '0a'),
          },
          regions: hardware.present.has(boardRegion) ? [describedRegion(boardRegion, '09')] : [],
        }),
      ),
    components: {
      list: () => onBoard('device read', ({ version }) => [{ name: boardComponent, version }]),
      check: async ({ imagePath }) => {
        if (versionOf(imagePath) === undefined) throw new ImageRefused('for no component');
      },
      write: async ({ imagePath }) => {
        await onBoard('device write begin', (board) => {
          for (const { uuid, status, hasLostArqs } of board.users) {
            if (status === 'ACTIVE' && !hasLostArqs)
              violate('I10', `a component is written while server ${uuid} uses its device`);
          }
          board.isTorn = true;
          board.isGivenUp = false;
          board.written = undefined;
        });
        await timeline.sleep(process, writeMs);
        await onBoard('device write end', (board) => {
          failIfBroken();
          board.isTorn = false;
          board.written = versionOf(imagePath);
        });
      },
      activate: () =>
        onBoard('device activate', (board) => {
          if (board.needsPowerCycle) return 'power-cycle';
          runWritten(board);
          return 'active';
        }),
    },
  };
};
