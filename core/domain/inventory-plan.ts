// From what is stored and what a host reports to what has to change. Nothing here touches the world:
// a plan can be printed, compared and made again from the same facts.

import type { HostRelease } from './arq.ts';
import type { StoredProvider } from './bind-plan.ts';
import type {
  AttachHandle,
  Deployable,
  Device,
  DiscoveredDevice,
  DiscoveredRegion,
  Host,
  Offering,
} from './device.ts';
import {
  type DeployableUuid,
  type DeviceUuid,
  derivedUuid,
  type HandleUuid,
  type ProviderUuid,
  providerUuid,
} from './ids.ts';
import { traitsOf } from './traits.ts';

/** The part of a report that says which devices there are. */
export interface ReportedManifest {
  readonly bootId: string;
  readonly sequence: number;
  /** When the broker got it, in ms: reports of different boots are ordered by this alone. */
  readonly receivedAtMs: number;
  /** Address → digest of every device. */
  readonly manifest: Readonly<Record<string, string>>;
  /** What these drivers reported before is kept: they could not look. */
  readonly failedDrivers: readonly string[];
}

export interface ReportPlan {
  /** `late`: a newer report was applied already; only devices that one missed are taken from this. */
  readonly standing: 'newer' | 'late';
  readonly isNewBoot: boolean;
  readonly put: readonly DiscoveredDevice[];
  readonly retire: readonly Device[];
  /** Named by the newest manifest, not described by any report so far: address → digest. */
  readonly wanted: Readonly<Record<string, string>>;
  /** Addresses of devices of which this report says nothing: their drivers could not look. */
  readonly unseen: readonly string[];
}

export interface StoredHost extends Host {
  /** When its boot was first heard of; ISO 8601. */
  readonly bootedAt?: string;
  /** What was made on it before its last boot is not all made again yet. */
  readonly isStartingOver: boolean;
  readonly wanted: Readonly<Record<string, string>>;
  readonly lastReceivedAtMs: number;
}

/** A boot leaves nothing to clean up, and programs nothing for an operator. */
export function isEndedByBoot(release: HostRelease, { bootedAt }: StoredHost): boolean {
  return bootedAt !== undefined && release.startedAt < bootedAt;
}

/**
 * What to do about a report. Reports come twice, late and in any order, and a large one in parts:
 * each part has the whole manifest, and the devices of a late part are still taken if the newest
 * manifest named just them.
 */
export function planReport(
  host: StoredHost,
  stored: readonly Device[],
  report: ReportedManifest,
  described: readonly DiscoveredDevice[],
): ReportPlan {
  const isNewBoot = host.bootId !== report.bootId;
  const isNewer = isNewBoot
    ? report.receivedAtMs > host.lastReceivedAtMs
    : report.sequence > host.sequence;
  const known = new Map(stored.map((device) => [device.address, device]));
  const couldNotLook = ({ driver }: Device) => report.failedDrivers.includes(driver);
  // Another driver takes what that one could not look at, but does not know who has parts of it.
  const taken = described.filter(({ address, driver }) => {
    const device = known.get(address);
    return device && !device.isGone && device.driver !== driver && couldNotLook(device);
  });
  const isTaken = new Set(taken.map(({ address }) => address));
  const told = described.filter(({ address }) => !isTaken.has(address));
  const named = Object.entries(report.manifest).filter(([address]) => !isTaken.has(address));
  const isNamed = new Set(named.map(([address]) => address));
  const unseen = stored.filter((device) => couldNotLook(device) && !isNamed.has(device.address));
  const addresses = unseen.map(({ address }) => address);
  if (!isNewer) return { ...planLateReport(host, told), unseen: addresses };

  const isStored = (address: string, digest: string) => {
    const device = known.get(address);
    return device !== undefined && device.digest === digest && !device.isGone;
  };
  const missing = named.filter(([at, digest]) => !isStored(at, digest));
  const put = told.filter((device) =>
    missing.some(([at, digest]) => at === device.address && digest === device.digest),
  );
  const isPut = new Set(put.map((device) => device.address));
  return {
    standing: 'newer',
    isNewBoot,
    put,
    retire: stored.filter(
      (device) => !isNamed.has(device.address) && !couldNotLook(device) && !device.isGone,
    ),
    wanted: Object.fromEntries(missing.filter(([address]) => !isPut.has(address))),
    unseen: addresses,
  };
}

function planLateReport(
  host: StoredHost,
  described: readonly DiscoveredDevice[],
): Omit<ReportPlan, 'unseen'> {
  const put = described.filter((device) => host.wanted[device.address] === device.digest);
  const isPut = new Set(put.map((device) => device.address));
  const wanted = Object.entries(host.wanted).filter(([address]) => !isPut.has(address));
  return {
    standing: 'late',
    isNewBoot: false,
    put,
    retire: [],
    wanted: Object.fromEntries(wanted),
  };
}

/** The rows of one device after a change. Handles in use stay until their claim has ended. */
export interface DevicePlan {
  readonly device: Device;
  readonly deployables: readonly Deployable[];
  readonly addHandles: readonly AttachHandle[];
  /** Reported again after they were gone; as they are to be if they have been deleted meanwhile. */
  readonly reviveHandles: readonly AttachHandle[];
  readonly dropHandles: readonly AttachHandle[];
}

export function planDevice(
  hostname: string,
  stored: { readonly device: Device; readonly providers: readonly StoredProvider[] } | undefined,
  discovered: DiscoveredDevice,
  now: string,
): DevicePlan {
  const was = stored?.device;
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
    status: was?.status ?? 'enabled',
    digest: discovered.digest,
    providers: [],
    isGone: false,
    createdAt: was?.createdAt ?? now,
    ...(was && { updatedAt: now }),
  };
  const wanted = wantedProviders(device, discovered);
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
    dropHandles: [...storedHandles.values()].filter((h) => !isWanted.has(h.uuid) && !h.isGone),
  };
}

/** The rows of a device that the host no longer reports. */
export function planRetirement(
  stored: { readonly device: Device; readonly providers: readonly StoredProvider[] },
  now: string,
): DevicePlan {
  return {
    // Another digest than any device has, so that its return is noticed.
    device: { ...stored.device, isGone: true, digest: '', updatedAt: now },
    deployables: stored.providers.map(({ deployable }) => ({
      ...deployable,
      isGone: true,
      updatedAt: now,
    })),
    addHandles: [],
    reviveHandles: [],
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

interface WantedProvider {
  readonly deployable: Deployable;
  readonly offering?: Offering;
}

/** A provider for the device and, below it, one for each region. */
function wantedProviders(device: Device, discovered: DiscoveredDevice): WantedProvider[] {
  const name = `${device.hostname}_${discovered.providerSuffix ?? discovered.address}`;
  const own = wantedProvider(device, discovered, name);
  const regions = discovered.regions.map((region) =>
    wantedProvider(
      device,
      discovered,
      `${name}_${region.name}`,
      region,
      own.deployable.providerUuid,
    ),
  );
  return [own, ...regions];
}

function wantedProvider(
  device: Device,
  discovered: DiscoveredDevice,
  name: string,
  region?: DiscoveredRegion,
  parent?: ProviderUuid,
): WantedProvider {
  const offering = region ?? discovered.offers;
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
      traits: traitsOf(discovered, region),
      ...(region && { region: region.name }),
      ...(region?.bitstreamId && { bitstreamId: region.bitstreamId }),
      ...(region?.regionTypeUuid && { regionTypeUuid: region.regionTypeUuid }),
      ...(region?.functionUuid && { functionUuid: region.functionUuid }),
      isGone: false,
      createdAt: device.updatedAt ?? device.createdAt,
    },
    ...(offering && { offering }),
  };
}

function wantedHandle(
  deployable: Deployable,
  handle: Offering['attachHandles'][number],
  now: string,
): AttachHandle {
  const info = Object.entries(handle.info).sort(([a], [b]) => (a < b ? -1 : 1));
  const identity = [handle.type, ...info.flat()];
  return {
    uuid: derivedUuid('handle', deployable.providerUuid, ...identity) as HandleUuid,
    providerUuid: deployable.providerUuid,
    type: handle.type,
    info: handle.info,
    // It may have been there before, under a lower number: releases are rarer than milliseconds.
    epoch: Date.parse(now),
    isGone: false,
  };
}
