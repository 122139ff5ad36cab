// Devices of a host, their deployables (resource providers in Placement) and their attach
// handles, each of which gives a hypervisor one accelerator.

import type { AdoptedProvider } from './adopted-providers.ts';
import type { Attribute } from './attribute.ts';
import type { CardCleaning } from './card-cleaning.ts';
import type { ChangeNote } from './change-note.ts';
import type { DeviceFacts } from './device-facts.ts';
import type { HandleClaim } from './handle-claim.ts';
import type { FailedJobs } from './host-pause.ts';
import type { Drain } from './host-state.ts';
import type { IdentityConflict } from './identity.ts';
import type { DeployableUuid, DeviceUuid, HandleUuid, ProviderUuid, ReleaseId } from './ids.ts';
import type { RegionKind } from './region-kinds.ts';

export const attachTypes = ['PCI', 'MDEV', 'TEST_PCI'] as const;
export type AttachType = (typeof attachTypes)[number];
/** Cyborg's device types. */
export const deviceTypes = ['GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC', 'SSD'] as const;
export type DeviceType = (typeof deviceTypes)[number];
export const deviceStatuses = ['enabled', 'maintaining'] as const;
export type DeviceStatus = (typeof deviceStatuses)[number];

/** Whether a bind has the host prepare a handle, or the agent has done so before any bind. */
export const preparations = ['at-bind', 'ahead'] as const;
export type Preparation = (typeof preparations)[number];

/** What the host does for the holders of an attach handle, as its driver declares it. */
export interface HandleCare {
  /**
   * `at-bind`: by a job for each bind. `ahead`: the agent has made it before any bind, and makes
   * it again after a boot. Absent where the hardware is ready as it is.
   */
  readonly prepare?: Preparation;
  /** The longest time that the host cleans it after a holder; absent where it does not. */
  readonly cleanSeconds?: number;
}

/** The end of a cleaning, with facts by name that the driver has verified. */
export interface Cleaning {
  /** ISO 8601. */
  readonly at: string;
  readonly evidence: Readonly<Record<string, string | number | boolean>>;
}

/** An attach handle as its host reports it. */
export interface DiscoveredHandle extends HandleCare {
  readonly type: AttachType;
  readonly info: Readonly<Record<string, string>>;
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
export interface Offering {
  /** What the units are, where the settings of the host choose it, such as a type of vGPU. */
  readonly pool?: string;
  readonly resourceClass: string;
  readonly numAccelerators: number;
  readonly traits: readonly string[];
  readonly attachHandles: readonly DiscoveredHandle[];
}

export interface DiscoveredRegion extends Offering {
  readonly name: string;
  readonly kind: RegionKind;
  readonly regionTypeUuid?: string;
  readonly bitstreamId?: string;
  /** The functions of the image in it. */
  readonly functionUuids?: readonly string[];
}

/** A device as its host reports it. */
export interface DiscoveredDevice extends DeviceFacts {
  /** Of its physical function; the kernel's name of a device that has no PCI address. */
  readonly address: string;
  readonly driver: string;
  readonly type: DeviceType;
  readonly vendor: string;
  readonly product: string;
  readonly model: string;
  readonly stdBoardInfo?: string;
  readonly vendorBoardInfo?: string;
  /** Replaces the address at the end of the provider's name. */
  readonly providerSuffix?: string;
  readonly offers?: Offering;
  readonly regions: readonly DiscoveredRegion[];
  readonly digest: string;
  /** Added by the control plane; see card-cleaning.ts. */
  readonly cardCleaning?: CardCleaning;
}

/** Who set a device's status, when, and why. */
export interface StatusChange {
  readonly status: DeviceStatus;
  readonly by: string;
  readonly at: string;
  readonly reason?: string;
  readonly requestId?: string;
  /** The whole host was drained: its resume enables the device again. */
  readonly drain?: true;
  /** When the sweep enables the device again; ISO 8601. */
  readonly until?: string;
}

/** Who released handles of a device by force, when, and why. */
export interface ForceNote {
  readonly by: string;
  readonly at: string;
  /** The operator stated that the device is clean; its host did not clean it. */
  readonly isCleaned: boolean;
  readonly reason?: string;
}

export interface Device extends Omit<DeviceFacts, 'attributes'> {
  readonly uuid: DeviceUuid;
  readonly hostname: string;
  /** Of its physical function; the kernel's name of a device that has no PCI address. */
  readonly address: string;
  readonly driver: string;
  readonly type: DeviceType;
  readonly vendor: string;
  readonly product: string;
  readonly model: string;
  readonly stdBoardInfo?: string;
  readonly vendorBoardInfo?: string;
  readonly status: DeviceStatus;
  /** The last change; undefined if no operator has set the status. */
  readonly statusChange?: StatusChange;
  /** The last time an operator released its handles by force. */
  readonly forced?: ForceNote;
  /** From the last report that described it; see core/contracts/device-digest.ts. */
  readonly digest: string;
  /** Its providers in Placement, parents first, as they must be created. */
  readonly providers: readonly ProviderUuid[];
  /** Those of them that an import took over from another service. */
  readonly adopted?: readonly AdoptedProvider[];
  /** The host no longer reports it. The row stays until no claim and no allocation is left. */
  readonly isGone: boolean;
  /** Set for a card that was found not clean, or not known to be; see card-cleaning.ts. */
  readonly cardCleaning?: CardCleaning;
  /** Number of attach handles in the last report that described it. */
  readonly handleCount?: number;
  /** Since when two agents report as its host, ISO 8601: no bind takes the device. */
  readonly conflictSince?: string;
  /** Copy of the host's. */
  readonly hostAttachTypes?: readonly AttachType[];
  readonly createdAt: string;
  readonly updatedAt?: string;
}

export const programStates = ['started', 'done', 'failed'] as const;

/** The last time an operator had a region programmed. */
export interface ProgramNote {
  /** Uuid of the image in Glance. */
  readonly image: string;
  readonly by: string;
  readonly at: string;
  readonly state: (typeof programStates)[number];
  readonly reason?: string;
}

export interface Deployable {
  readonly uuid: DeployableUuid;
  readonly providerUuid: ProviderUuid;
  /** Undefined for a device's own provider: its parent is the compute node's provider. */
  readonly parentProviderUuid?: ProviderUuid;
  readonly deviceUuid: DeviceUuid;
  readonly hostname: string;
  /** The provider's name, unique in the cloud. */
  readonly name: string;
  /** The region's name, as the driver calls it; absent for a whole device. */
  readonly region?: string;
  /** Present where `region` is. */
  readonly regionKind?: RegionKind;
  readonly driver: string;
  /** Copy of the device's, so that a bind reads one partition only. */
  readonly deviceStatus: DeviceStatus;
  /** Absent where only the regions below it can be allocated. */
  readonly resourceClass?: string;
  readonly numAccelerators: number;
  /** Of all its reported handles: a bind reads some of them only. */
  readonly attachTypes?: readonly AttachType[];
  readonly traits: readonly string[];
  readonly bitstreamId?: string;
  readonly regionTypeUuid?: string;
  readonly functionUuids?: readonly string[];
  /** What its host says of it, by key, for people to read. */
  readonly reportedAttributes?: Readonly<Record<string, string>>;
  /** Copy of the device's: why no bind takes it. */
  readonly unhealthy?: string;
  readonly program?: ProgramNote;
  /** Attributes that operators have added, in no order; see attribute.ts. */
  readonly addedAttributes?: readonly Attribute[];
  readonly isGone: boolean;
  /** Copy of the device's. */
  readonly conflictSince?: string;
  /** Copy of the host's. */
  readonly hostAttachTypes?: readonly AttachType[];
  readonly createdAt: string;
  readonly updatedAt?: string;
}

/**
 * At most one ARQ claims a handle. The claim may wait behind the release of the previous holder:
 * its host prepares nothing for it until it has confirmed that release. handle-state.ts derives
 * the state.
 */
export interface AttachHandle extends HandleCare {
  readonly uuid: HandleUuid;
  readonly providerUuid: ProviderUuid;
  readonly type: AttachType;
  readonly info: Readonly<Record<string, string>>;
  /**
   * Grows with each release, program and restore; a claim holds only for the epoch that was read.
   */
  readonly epoch: number;
  readonly claim?: HandleClaim;
  /**
   * The release that its host has not confirmed: the previous holder's data may still be there.
   */
  readonly release?: ReleaseId;
  /** What its host last verified after cleaning it. */
  readonly lastCleaning?: Cleaning;
  /** Why it is in quarantine: its release was not confirmed in time. */
  readonly quarantine?: string;
  /** The moment of the backup that it comes from, ISO 8601; its holder since is not known. */
  readonly restoredAt?: string;
  /** The host no longer reports it. It is deleted when its claim ends. */
  readonly isGone: boolean;
  /** Who claimed, released, cleaned or withheld it last; absent for a new handle. */
  readonly lastChange?: ChangeNote;
}

export interface Host {
  readonly hostname: string;
  readonly bootId?: string;
  /** Grows with each boot that the agent reports. */
  readonly epoch: number;
  /** Sequence number of the last report that was applied. */
  readonly sequence: number;
  readonly agentVersion?: string;
  /** The form of jobs that its agent reads; 1 for an agent of 0.1. */
  readonly form?: number;
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
