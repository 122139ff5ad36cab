// Compares the stored rows of a device with its host's report, and plans the changes. Pure.

import type { StoredProvider } from './bind-plan.ts';
import type {
  AttachHandle,
  AttachType,
  Deployable,
  Device,
  DiscoveredDevice,
  DiscoveredRegion,
  HandleCare,
  Offering,
} from './device.ts';
import { placeOf } from './device.ts';
import { factAttributes, factsOf, isUnhealthy } from './device-facts.ts';
import {
  type DeployableUuid,
  type DeviceUuid,
  derivedUuid,
  type HandleUuid,
  type ProviderUuid,
  providerUuid,
} from './ids.ts';
import { handleCountOf } from './report-plan.ts';
import { traitsOf } from './traits.ts';

/** The rows of one device after the change. Handles in use stay until their claim has ended. */
export interface DevicePlan {
  /** No row of the device is stored, so it has no digest to clear. */
  readonly isNew: boolean;
  readonly device: Device;
  readonly deployables: readonly Deployable[];
  readonly addHandles: readonly AttachHandle[];
  /** Reported again after they were gone. If their row was deleted, it is written like this. */
  readonly reviveHandles: readonly AttachHandle[];
  /** Stored already; the host prepares or cleans them otherwise, or Nova attaches them so. */
  readonly changeHandles: readonly AttachHandle[];
  readonly dropHandles: readonly AttachHandle[];
}

export function planDevice(
  hostname: string,
  stored: { readonly device: Device; readonly providers: readonly StoredProvider[] } | undefined,
  discovered: DiscoveredDevice,
  now: string,
  hostAttachTypes?: readonly AttachType[],
): DevicePlan {
  const was = stored?.device;
  const { attributes: _attributes, ...facts } = factsOf(discovered);
  // A card whose serial number cannot be read for a while is still the same card.
  const identity = facts.identity ?? was?.identity;
  const device: Device = {
    uuid: deviceUuid(hostname, discovered.address),
    hostname,
    address: discovered.address,
    driver: discovered.driver,
    type: discovered.type,
    vendor: discovered.vendor,
    product: discovered.product,
    model: discovered.model,
    ...(discovered.stdBoardInfo && { stdBoardInfo: discovered.stdBoardInfo }),
    ...(discovered.vendorBoardInfo && { vendorBoardInfo: discovered.vendorBoardInfo }),
    ...facts,
    ...(identity && { identity }),
    status: was?.status ?? 'enabled',
    digest: discovered.digest,
    handleCount: handleCountOf(discovered),
    providers: [],
    isGone: false,
    ...(hostAttachTypes && { hostAttachTypes }),
    createdAt: was?.createdAt ?? now,
    ...(was && { updatedAt: now }),
  };
  const wanted = wantedDeployables(device, discovered);
  const storedById = new Map(stored?.providers.map((each) => [each.deployable.providerUuid, each]));
  const deployables = wanted.map(({ deployable }) => {
    const before = storedById.get(deployable.providerUuid)?.deployable;
    return before ? { ...deployable, createdAt: before.createdAt, updatedAt: now } : deployable;
  });
  const goneProviders = (stored?.providers ?? []).filter(
    ({ deployable }) => !deployables.some((each) => each.providerUuid === deployable.providerUuid),
  );
  const handles = wanted.flatMap(({ deployable, offering }) =>
    (offering?.attachHandles ?? []).map((handle) => wantedHandle(deployable, handle, now)),
  );
  const storedHandles = new Map(
    (stored?.providers ?? []).flatMap((each) =>
      each.handles.map((handle) => [handle.uuid, handle]),
    ),
  );
  const isWanted = new Set(handles.map((handle) => handle.uuid));
  return {
    isNew: stored === undefined,
    device: {
      ...device,
      providers: [
        ...deployables.map((each) => each.providerUuid),
        ...goneProviders.map((each) => each.deployable.providerUuid),
      ],
    },
    deployables: [
      ...deployables,
      ...goneProviders.map(({ deployable }) => ({ ...deployable, isGone: true, updatedAt: now })),
    ],
    addHandles: handles.filter((handle) => !storedHandles.has(handle.uuid)),
    reviveHandles: handles.filter((handle) => storedHandles.get(handle.uuid)?.isGone),
    changeHandles: handles.filter((handle) => {
      const before = storedHandles.get(handle.uuid);
      return (
        before !== undefined && !(isSameCare(before, handle) && isAttachedAlike(before, handle))
      );
    }),
    dropHandles: [...storedHandles.values()].filter((h) => !isWanted.has(h.uuid) && !h.isGone),
  };
}

/** The rows of a device that the host no longer reports. */
export function planRetirement(
  stored: { readonly device: Device; readonly providers: readonly StoredProvider[] },
  now: string,
): DevicePlan {
  return {
    isNew: false,
    // No device has an empty digest, so a report of the device is applied when it returns.
    device: { ...stored.device, isGone: true, digest: '', updatedAt: now },
    deployables: stored.providers.map(({ deployable }) => ({
      ...deployable,
      isGone: true,
      updatedAt: now,
    })),
    addHandles: [],
    reviveHandles: [],
    changeHandles: [],
    dropHandles: stored.providers.flatMap((each) => each.handles.filter((h) => !h.isGone)),
  };
}

export function deviceUuid(hostname: string, address: string): DeviceUuid {
  return derivedUuid('device', hostname, address) as DeviceUuid;
}

/** @param name of the resource provider, unique in the cloud */
export function deployableUuid(name: string): DeployableUuid {
  return derivedUuid('deployable', name) as DeployableUuid;
}

function isSameCare(one: HandleCare, other: HandleCare): boolean {
  return one.prepare === other.prepare && one.cleanSeconds === other.cleanSeconds;
}

/** Not the whole info: the host may have chosen another object to carry the handle. */
function isAttachedAlike({ info: one }: AttachHandle, { info: other }: AttachHandle): boolean {
  return one.physical_network === other.physical_network && one.managed === other.managed;
}

interface WantedDeployable {
  readonly deployable: Deployable;
  readonly offering?: Offering;
}

/** A provider for the device and, below it, one for each region. */
function wantedDeployables(device: Device, discovered: DiscoveredDevice): WantedDeployable[] {
  const name = `${device.hostname}_${discovered.providerSuffix ?? discovered.address}`;
  const own = wantedDeployable(device, discovered, name);
  const regions = discovered.regions.map((region) =>
    wantedDeployable(
      device,
      discovered,
      `${name}_${region.name}`,
      region,
      own.deployable.providerUuid,
    ),
  );
  return [own, ...regions];
}

function wantedDeployable(
  device: Device,
  discovered: DiscoveredDevice,
  name: string,
  region?: DiscoveredRegion,
  parent?: ProviderUuid,
): WantedDeployable {
  const offering = region ?? discovered.offers;
  const reportedAttributes = factAttributes(discovered, offering?.pool);
  return {
    deployable: {
      uuid: deployableUuid(name),
      providerUuid: providerUuid(name),
      ...(parent && { parentProviderUuid: parent }),
      deviceUuid: device.uuid,
      hostname: device.hostname,
      name,
      driver: device.driver,
      deviceStatus: device.status,
      ...(offering && { resourceClass: offering.resourceClass }),
      numAccelerators: offering?.numAccelerators ?? 0,
      ...(offering && { attachTypes: typesOf(offering) }),
      traits: traitsOf(discovered, region),
      ...(region && { region: region.name, regionKind: region.kind }),
      ...(region?.bitstreamId && { bitstreamId: region.bitstreamId }),
      ...(region?.regionTypeUuid && { regionTypeUuid: region.regionTypeUuid }),
      ...(region?.functionUuids && { functionUuids: region.functionUuids }),
      ...(Object.keys(reportedAttributes).length > 0 && { reportedAttributes }),
      ...(isUnhealthy(discovered) && { unhealthy: discovered.health?.reason ?? '' }),
      isGone: false,
      ...(device.hostAttachTypes && { hostAttachTypes: device.hostAttachTypes }),
      createdAt: device.updatedAt ?? device.createdAt,
    },
    ...(offering && { offering }),
  };
}

function typesOf({ attachHandles }: Offering): AttachType[] {
  return [...new Set(attachHandles.map(({ type }) => type))];
}

function wantedHandle(
  deployable: Deployable,
  handle: Offering['attachHandles'][number],
  now: string,
): AttachHandle {
  const { type, info, prepare, cleanSeconds } = handle;
  const sorted = Object.entries(placeOf(info)).sort(([a], [b]) => (a < b ? -1 : 1));
  const derived = derivedUuid('handle', deployable.providerUuid, type, ...sorted.flat());
  return {
    uuid: (handle.uuid ?? derived) as HandleUuid,
    providerUuid: deployable.providerUuid,
    type,
    info,
    ...(prepare && { prepare }),
    ...(cleanSeconds !== undefined && { cleanSeconds }),
    // Higher than any epoch of an earlier row of this handle: releases are rarer than
    // milliseconds.
    epoch: Date.parse(now),
    isGone: false,
  };
}
