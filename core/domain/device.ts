// Devices of a host, their deployables (resource providers in Placement) and their attach
// handles, each of which gives a hypervisor one accelerator. core/shapes declares their fields.

import type { cleaning, handleCare, handleFacts, handleState } from '../shapes/attach-handle.ts';
import type { Shaped } from '../shapes/case.ts';
import type {
  deployable,
  offeringFacts,
  programNote,
  regionIdentity,
  reportedRegionFacts,
} from '../shapes/deployable.ts';
import type { device, forceNote, reportedDevice, statusChange } from '../shapes/device.ts';
import type { attachTypes, deviceStatuses, deviceTypes } from '../shapes/words.ts';
import type { Attribute } from './attribute.ts';
import type { CardCleaning } from './card-cleaning.ts';
import type { DeviceHealth } from './device-facts.ts';
import type { HandleClaim } from './handle-claim.ts';
import type { FailedJobs } from './host-pause.ts';
import type { Drain } from './host-state.ts';
import type { IdentityConflict } from './identity.ts';
import type { HandleUuid, ProviderUuid, ReleaseId } from './ids.ts';

export type AttachType = (typeof attachTypes)[number];
export type DeviceType = (typeof deviceTypes)[number];
export type DeviceStatus = (typeof deviceStatuses)[number];

/** What the host does for the holders of an attach handle, as its driver declares it. */
export type HandleCare = Shaped<typeof handleCare>;

/** The end of a cleaning, with facts by name that the driver has verified. */
export type Cleaning = Shaped<typeof cleaning>;

/** An attach handle as its host reports it. */
export interface DiscoveredHandle extends Shaped<typeof handleFacts> {
  /** Given by the host where the object that the handle stands for exists already. */
  readonly uuid?: string;
}

/** What tells one handle from another: its place, not how the host and its settings treat it. */
export function placeOf(info: DiscoveredHandle['info']): Record<string, string> {
  const { physical_network: _network, managed: _managed, ...place } = info;
  return place;
}

/**
 * The allocatable part of a device or region: Placement's class, with one handle per accelerator.
 */
export interface Offering extends Shaped<typeof offeringFacts> {
  readonly numAccelerators: number;
  readonly attachHandles: readonly DiscoveredHandle[];
}

export interface DiscoveredRegion
  extends Offering,
    Shaped<typeof regionIdentity>,
    Shaped<typeof reportedRegionFacts> {
  /** The functions of the image in it. */
  readonly functionUuids?: readonly string[];
}

/** A device as its host reports it. */
export interface DiscoveredDevice extends Shaped<typeof reportedDevice> {
  readonly health?: DeviceHealth;
  readonly offers?: Offering;
  readonly regions: readonly DiscoveredRegion[];
  readonly digest: string;
  /** Added by the control plane; see card-cleaning.ts. */
  readonly cardCleaning?: CardCleaning;
}

export type StatusChange = Shaped<typeof statusChange>;
export type ForceNote = Shaped<typeof forceNote>;
export type Device = Shaped<typeof device>;
export type ProgramNote = Shaped<typeof programNote>;

export interface Deployable extends Shaped<typeof deployable> {
  /** Copy of the device's, so that a bind reads one partition only. */
  readonly deviceStatus: DeviceStatus;
  readonly program?: ProgramNote;
  /** Attributes that operators have added, in no order; see attribute.ts. */
  readonly addedAttributes?: readonly Attribute[];
}

/**
 * At most one ARQ claims a handle. The claim may wait behind the release of the previous holder:
 * its host prepares nothing for it until it has confirmed that release. handle-state.ts derives
 * the state.
 */
export interface AttachHandle extends Shaped<typeof handleFacts>, Shaped<typeof handleState> {
  readonly uuid: HandleUuid;
  readonly providerUuid: ProviderUuid;
  /**
   * Grows with each release, program and restore; a claim holds only for the epoch that was read.
   */
  readonly epoch: number;
  readonly claim?: HandleClaim;
  /**
   * The release that its host has not confirmed: the previous holder's data may still be there.
   */
  readonly release?: ReleaseId;
  /** The host no longer reports it. It is deleted when its claim ends. */
  readonly isGone: boolean;
}

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

/** The vendor id in canonical form, without `0x` and in lower case. */
export function vendorId(vendor: string): string {
  return vendor.toLowerCase().replace(/^0x/, '');
}
