// A compute node that runs the agent, as its row says.

import type { AttachType } from '#core/domain/device/device.ts';
import type { ClockSkew } from './clock-skew.ts';
import type { FailedJobs } from './host-pause.ts';
import type { Drain } from './host-state.ts';
import type { Identity, IdentityConflict } from './identity.ts';
import type { Pace } from './pace.ts';

export interface Host {
  readonly hostname: string;
  readonly bootId?: string;
  /** Grows with each boot that the agent reports. */
  readonly epoch: number;
  /** Sequence number of the last report that was applied. */
  readonly sequence: number;
  readonly agentVersion?: string;
  /** What its hypervisor takes, in the order of the types; absent: the deployment's setting. */
  readonly attachTypes?: readonly AttachType[];
  readonly lastReportAt?: string;
  /** That its last report names; absent: none. */
  readonly failedDrivers?: readonly string[];
  readonly presence?: Presence;
  readonly failedJobs?: FailedJobs;
  /** Set while two agents report as this host. */
  readonly conflict?: IdentityConflict;
  /** May have ended: see `drainOf`. */
  readonly drain?: Drain;
}

export interface StoredHost extends Host, Identity {
  /** Reprovisioning after its last boot has not finished. */
  readonly isReprovisioning: boolean;
  readonly clock?: ClockSkew;
  /** Limits how often its reports are applied. */
  readonly pace?: Pace;
  readonly wanted: Readonly<Record<string, string>>;
  readonly refused: RefusedDevices;
}

/** A device with an invalid description, until the host describes it with another digest. */
export interface RefusedDevice {
  readonly digest: string;
  readonly reason: string;
}
export type RefusedDevices = Readonly<Record<string, RefusedDevice>>;

/** A device that the settings of its host name, and that the host does not offer. */
export interface NotOffered {
  readonly address: string;
  readonly driver: string;
  /** A clause that completes "The device at <address> ...". */
  readonly reason: string;
}

/** The agent's connection, as AWS IoT's lifecycle events tell it. */
export interface Presence {
  readonly isConnected: boolean;
  readonly session?: string;
  readonly version?: number;
  /** Id of the certificate that the agent connected with. */
  readonly certificate?: string;
  /** Grows with each event that is stored, and is its time at least; ms since 1970. */
  readonly order?: number;
  /** Time of the event, ISO 8601. */
  readonly at: string;
}
