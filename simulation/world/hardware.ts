// The devices of a simulated compute node, as they are without an agent.

import type { Board } from './drivers/board-driver.ts';
import type { Card } from './drivers/card-driver.ts';
import type { PoolUnits } from './drivers/pool-driver.ts';
import type { Server } from './openstack/nova.ts';

export const gpuAddress = '0000:0e:00.0';
export const fpgaAddress = '0000:0d:00.0';
export const nicAddress = '0000:0c:00.0';
/** Present only where an operation plugs it in: a second region of the FPGA. */
export const secondRegion = 'region1';
export const mdevType = 'sim-1';
export const regionInterface = '69528db6-eb31-577a-8c36-68f9faa081f6';

export interface Mdev {
  readonly address: string;
  readonly type: string;
  readonly uuid: string;
}

/** The state of the hardware; it survives the agent. */
export interface Hardware {
  /** Keys are uuids. `usedBy` is the server that used the mdev: no other server may get it. */
  readonly mdevs: Map<string, Mdev & { usedBy?: string }>;
  /** Image in the FPGA's region. */
  image: string | undefined;
  /** Servers that use a handle of the region. */
  readonly regionUsers: Set<Server>;
  /** Devices that are plugged in. */
  readonly present: Set<string>;
  /** A card that moves between hosts; it has a slot of its own. */
  card?: Card | undefined;
  /** The cards of the pool, where an operation names them. */
  units?: PoolUnits | undefined;
  /** A device with a component that is programmed; only in operations about it. */
  board?: Board | undefined;
  /** Whether the region holds its image after a reboot. */
  imageAtBoot: 'kept' | 'lost' | 'either';
  /** The next boot finds no state files of the agent. */
  isDiskReplaced: boolean;
  /** Handles of the NIC beyond the usual ones, and how long the host cleans each of all. */
  readonly nic: { more: number; cleanSeconds?: number };
  /** Every request to the devices fails. */
  isBroken: boolean;
  /** Mdevs whose removal the agent has not stored yet. */
  readonly unrecorded: Set<string>;
  /** Reads of the GPU fail until the first, and for the second after each kill of the agent. */
  blindUntilMs: number;
  blindAfterKillMs: number;
}

/** What a host has in operations about it only: a device with a component, or a pool. */
export type Extra = 'board' | 'pool';

export function foreignMdev(uuid: string): Mdev {
  return { address: gpuAddress, type: mdevType, uuid };
}
