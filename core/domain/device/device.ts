// Devices of a host, their deployables (resource providers in Placement) and their attach
// handles, each of which gives a hypervisor one accelerator. core/shapes declares their fields.

import type { HandleUuid, ProviderUuid, ReleaseId } from '#core/domain/ids.ts';
import type {
  AttachType,
  cleaning,
  handleCare,
  handleState,
  offeredHandle,
} from '#core/shapes/attach-handle.ts';
import type {
  componentNote,
  deployable,
  offeringFacts,
  programNote,
  regionIdentity,
  reportedRegionFacts,
} from '#core/shapes/deployable.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import type {
  device,
  forceNote,
  holdMark,
  programGrant,
  statusChange,
} from '#core/shapes/device.ts';
import type { reportedDevice } from '#core/shapes/reported/device.ts';
import type { deviceStatuses } from '#core/shapes/vocabulary/words.ts';
import type { Attribute } from './attribute.ts';
import type { CardCleaning } from './card-cleaning.ts';
import type { DeviceHealth } from './device-health.ts';
import type { HandleClaim } from './handle-claim.ts';

export type { AttachType };
export type DeviceStatus = (typeof deviceStatuses)[number];

export function isOnHold({ holds = [] }: Pick<Device, 'holds'>): boolean {
  return holds.length > 0;
}

/** The word that operators read; other words stay as they are. */
export function operatorStatus<Word extends string | undefined>(
  status: Word,
): Exclude<Word, 'maintaining'> | 'disabled' {
  return status === 'maintaining' ? 'disabled' : (status as Exclude<Word, 'maintaining'>);
}

/** What the host does for the holders of an attach handle, as its driver declares it. */
export type HandleCare = Shaped<typeof handleCare>;

/** The end of a cleaning, with facts by name that the driver has verified. */
export type Cleaning = Shaped<typeof cleaning>;

/** An attach handle as its host reports it. */
export interface DiscoveredHandle extends Shaped<typeof offeredHandle> {
  /** Given by the host where the object that the handle stands for exists already. */
  readonly uuid?: string;
}

/** The part of `info` that identifies a handle: its place, not how the host treats it. */
export function identifyingInfo(info: DiscoveredHandle['info']): Record<string, string> {
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
export type HoldMark = Shaped<typeof holdMark>;
export type ForceNote = Shaped<typeof forceNote>;
export type ProgramNote = Shaped<typeof programNote>;
export type ComponentNote = Shaped<typeof componentNote>;
export type ProgramGrant = Shaped<typeof programGrant>;

export interface Device extends Shaped<typeof device> {
  /** The last program of each component, in no order. */
  readonly programs?: readonly ComponentNote[];
  /** The last one of each project, in no order; some may be over. */
  readonly grants?: readonly ProgramGrant[];
}

export interface Deployable extends Shaped<typeof deployable> {
  /** Copy of the device's, so that a bind reads one partition only. */
  readonly deviceStatus: DeviceStatus;
  readonly program?: ProgramNote;
  /** Copies of the device's. */
  readonly programs?: readonly ComponentNote[];
  /** Attributes that operators have added, in no order; see attribute.ts. */
  readonly addedAttributes?: readonly Attribute[];
}

/**
 * At most one ARQ claims a handle. The claim may wait behind the release of the previous holder:
 * its host prepares nothing for it until it has confirmed that release. handle-state.ts derives
 * the state.
 */
export interface AttachHandle extends Shaped<typeof offeredHandle>, Shaped<typeof handleState> {
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

/** The vendor id in canonical form, without `0x` and in lower case. */
export function vendorId(vendor: string): string {
  return vendor.toLowerCase().replace(/^0x/, '');
}
