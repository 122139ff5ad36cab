// What is in a host: devices, the deployables that Placement sees as resource providers, and the
// attach handles by which a hypervisor takes hold of one accelerator.

import type { Attribute } from './attribute.ts';
import type { IdentityConflict } from './identity.ts';
import type {
  ArqUuid,
  DeployableUuid,
  DeviceUuid,
  HandleUuid,
  InstanceUuid,
  ProviderUuid,
  ReleaseId,
} from './ids.ts';
import type { RegionKind } from './region-kinds.ts';

export const attachTypes = ['PCI', 'MDEV', 'TEST_PCI'] as const;
export type AttachType = (typeof attachTypes)[number];
/** Cyborg's device types. */
export const deviceTypes = ['GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC', 'SSD'] as const;
export type DeviceType = (typeof deviceTypes)[number];
export const deviceStatuses = ['enabled', 'maintaining'] as const;
export type DeviceStatus = (typeof deviceStatuses)[number];

/** What can be allocated of a device or region: Placement's class, and a handle for each. */
export interface Offering {
  readonly resourceClass: string;
  readonly numAccelerators: number;
  readonly traits: readonly string[];
  readonly attachHandles: readonly {
    readonly type: AttachType;
    readonly info: Readonly<Record<string, string>>;
  }[];
}

export interface DiscoveredRegion extends Offering {
  readonly name: string;
  readonly kind: RegionKind;
  readonly regionTypeUuid?: string;
  readonly bitstreamId?: string;
  readonly functionUuid?: string;
}

/** A device as its host reports it. */
export interface DiscoveredDevice {
  readonly address: string;
  readonly driver: string;
  readonly type: DeviceType;
  readonly vendor: string;
  readonly product: string;
  readonly model: string;
  readonly stdBoardInfo?: string;
  readonly vendorBoardInfo?: string;
  /** Ends the provider's name in place of the address. */
  readonly providerSuffix?: string;
  readonly offers?: Offering;
  readonly regions: readonly DiscoveredRegion[];
  readonly digest: string;
}

/** Who set a device's status, when, and why. */
export interface StatusChange {
  readonly status: DeviceStatus;
  readonly by: string;
  readonly at: string;
  readonly reason?: string;
  readonly requestId?: string;
}

/** Who released handles of a device by force, when, and on what word. */
export interface ForceNote {
  readonly by: string;
  readonly at: string;
  /** Without its host: the operator said that the device was cleaned. */
  readonly isCleaned: boolean;
  readonly reason?: string;
}

export interface Device {
  readonly uuid: DeviceUuid;
  readonly hostname: string;
  /** PCI address of the physical function. */
  readonly address: string;
  readonly driver: string;
  readonly type: DeviceType;
  readonly vendor: string;
  readonly product: string;
  readonly model: string;
  readonly stdBoardInfo?: string;
  readonly vendorBoardInfo?: string;
  readonly status: DeviceStatus;
  /** The last one; undefined where an operator has never set it. */
  readonly statusChange?: StatusChange;
  /** Of the report it was last seen in; see core/contracts/device-digest.ts. */
  readonly digest: string;
  /** Its providers in Placement, in the order in which they must be made: parents first. */
  readonly providers: readonly ProviderUuid[];
  /** The host no longer reports it. Kept while something of it is in use, and until Placement has let go. */
  readonly isGone: boolean;
  /** As its host last described it; unknown of rows from before it was kept. */
  readonly handleCount?: number;
  /** Since when two agents have reported as its host, ISO 8601: nothing new is bound of it. */
  readonly conflictSince?: string;
  readonly createdAt: string;
  readonly updatedAt?: string;
}

export const programStates = ['started', 'done', 'failed'] as const;

/** The last program of a region that an operator asked for. */
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
  /** Undefined for a device's own provider: its parent is the compute node's. */
  readonly parentProviderUuid?: ProviderUuid;
  readonly deviceUuid: DeviceUuid;
  readonly hostname: string;
  /** Name of the provider, unique in the cloud. */
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
  readonly traits: readonly string[];
  readonly bitstreamId?: string;
  readonly regionTypeUuid?: string;
  readonly functionUuid?: string;
  readonly program?: ProgramNote;
  /** What operators have added by the API, in no order; see attribute.ts. */
  readonly addedAttributes?: readonly Attribute[];
  readonly isGone: boolean;
  /** Copy of the device's. */
  readonly conflictSince?: string;
  readonly createdAt: string;
  readonly updatedAt?: string;
}

/**
 * A handle is free, or belongs to exactly one claim. A claim may wait behind the release of the one
 * before: it is not made ready until the host has confirmed that nothing of that is left.
 */
export interface AttachHandle {
  readonly uuid: HandleUuid;
  readonly providerUuid: ProviderUuid;
  readonly type: AttachType;
  readonly info: Readonly<Record<string, string>>;
  /** Grows with each release and program, and when it comes back; a claim names the one it has seen. */
  readonly epoch: number;
  readonly claim?: { readonly arqUuid: ArqUuid; readonly instanceUuid: InstanceUuid };
  /** What its last holder left behind is still on the host, for all we know. */
  readonly release?: ReleaseId;
  /** Why it is not handed out: its release was not confirmed in time. */
  readonly quarantine?: string;
  /**
   * Put back from a backup of that moment, ISO 8601: who has taken it since is not known, and it is not
   * handed out until that is. See operations/reinstate-handles.ts.
   */
  readonly restoredAt?: string;
  /** No longer reported; goes when its claim ends. */
  readonly isGone: boolean;
}

export interface Host {
  readonly hostname: string;
  readonly bootId?: string;
  /** Grows with each boot that the agent reports. */
  readonly epoch: number;
  /** Of the last report that was applied. */
  readonly sequence: number;
  readonly agentVersion?: string;
  readonly lastReportAt?: string;
  readonly presence?: Presence;
  readonly failedJobs?: FailedJobs;
  /** Set while two agents report as this host. */
  readonly conflict?: IdentityConflict;
}

/** Jobs that a host could not do, one after another, with none done in between. */
export interface FailedJobs {
  readonly count: number;
  /** ISO 8601. */
  readonly lastAt: string;
  /** Of the last one. */
  readonly reason: string;
}

/** The agent's connection, as AWS IoT's lifecycle events tell it. */
export interface Presence {
  readonly isConnected: boolean;
  readonly session?: string;
  readonly version?: number;
  /** Id of the certificate that the agent connected with. */
  readonly certificate?: string;
  /** ISO 8601, of the event. */
  readonly at: string;
}

/** A vendor as it is looked for: PCI ids are written with and without `0x`, in either case. */
export function vendorId(vendor: string): string {
  return vendor.toLowerCase().replace(/^0x/, '');
}
