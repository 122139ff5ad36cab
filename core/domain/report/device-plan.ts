// Compares the stored rows of a device with its host's report, and plans the changes. Pure.

import { isDeepStrictEqual } from 'node:util';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import {
  type AdoptedProvider,
  divideOffering,
  findWhole,
  withholdUnlike,
} from '#core/domain/device/adopted-providers.ts';
import type {
  AttachHandle,
  AttachType,
  Deployable,
  Device,
  DiscoveredDevice,
  DiscoveredHandle,
  DiscoveredRegion,
  Offering,
} from '#core/domain/device/device.ts';
import { identifyingInfo } from '#core/domain/device/device.ts';
import {
  joinFaults,
  judgeAttachments,
  lostFunctions,
} from '#core/domain/device/device-attachments.ts';
import { factAttributes } from '#core/domain/device/device-facts.ts';
import { isUnhealthy } from '#core/domain/device/device-health.ts';
import { mustStay } from '#core/domain/device/handle-state.ts';
import {
  type DeployableUuid,
  type DeviceUuid,
  derivedUuid,
  type HandleUuid,
  type ProviderUuid,
  providerUuid,
} from '#core/domain/ids.ts';
import { deriveTraits } from '#core/domain/placement/traits.ts';
import { handleCare, offeredHandle } from '#core/shapes/attach-handle.ts';
import { reportedRegionFacts } from '#core/shapes/deployable.ts';
import { pick } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { reportedFacts } from '#core/shapes/device.ts';
import { cardAfter, unitCardsAfter } from './other-cards.ts';
import { countHandles } from './report-plan.ts';

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

export interface StoredDevice {
  readonly device: Device;
  readonly providers: readonly StoredProvider[];
}

export function planDevice(
  hostname: string,
  stored: StoredDevice | undefined,
  reported: DiscoveredDevice,
  now: string,
  hostAttachTypes?: readonly AttachType[],
): DevicePlan {
  const was = stored?.device;
  const discovered = stored?.device.adopted
    ? withheldIfUnlike(hostname, stored, reported, now)
    : reported;
  const handlesBefore = stored?.providers.flatMap((each) => each.handles) ?? [];
  const { faults, isEarly } = judgeAttachments(discovered.seenAttachments, handlesBefore, now);
  const device: Device = {
    uuid: deviceUuid(hostname, discovered.address),
    hostname,
    ...pick(reportedFacts, discovered),
    status: was?.status ?? 'enabled',
    // Without a digest the agent is asked to describe the device again.
    digest: isEarly ? '' : discovered.digest,
    handleCount: countHandles(discovered),
    attachTypes: attachTypesOf(discovered),
    providers: [],
    isGone: false,
    createdAt: was?.createdAt ?? now,
    ...present({
      // A card whose serial number cannot be read for a while is still the same card.
      identity: discovered.identity ?? was?.identity,
      card: cardAfter(discovered, was),
      unitCards: unitCardsAfter(discovered, was),
      adopted: was?.adopted,
      cardCleaning: discovered.cardCleaning,
      hostAttachTypes,
      updatedAt: was && now,
    }),
  };
  const planned = wantedDeployables(device, discovered);
  const storedById = new Map(stored?.providers.map((each) => [each.deployable.providerUuid, each]));
  const deployables = planned.map(({ deployable }) => {
    const before = storedById.get(deployable.providerUuid)?.deployable;
    return before ? { ...deployable, createdAt: before.createdAt, updatedAt: now } : deployable;
  });
  const goneProviders = (stored?.providers ?? []).filter(
    ({ deployable }) => !deployables.some((each) => each.providerUuid === deployable.providerUuid),
  );
  const handles = planned.flatMap(({ deployable, offering }) =>
    (offering?.attachHandles ?? []).map((handle) => wantedHandle(deployable, handle, now)),
  );
  const storedHandles = new Map(handlesBefore.map((handle) => [handle.uuid, handle]));
  const isWanted = new Set(handles.map((handle) => handle.uuid));
  const unreported = handlesBefore.filter(({ uuid }) => !isWanted.has(uuid));
  const lost = lostFunctions(discovered, unreported, now, was?.attachmentFaults);
  const attachmentFaults = joinFaults(lost, faults);
  return {
    isNew: stored === undefined,
    device: {
      ...device,
      ...(attachmentFaults.length > 0 && { attachmentFaults }),
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
      return before !== undefined && !isAlike(before, handle);
    }),
    dropHandles: unreported.filter((handle) => !handle.isGone),
  };
}

export function deviceUuid(hostname: string, address: string): DeviceUuid {
  return derivedUuid('device', hostname, address) as DeviceUuid;
}

/** The names of the device's providers, unless they were imported. */
export function derivedNames(hostname: string, discovered: DiscoveredDevice): string[] {
  const base = derivedName(hostname, discovered);
  return [base, ...discovered.regions.map((region) => `${base}_${region.name}`)];
}

function derivedName(hostname: string, { providerSuffix, address }: DiscoveredDevice): string {
  return `${hostname}_${providerSuffix ?? address}`;
}

/** @param name of the resource provider, unique in the cloud */
export function deployableUuid(name: string): DeployableUuid {
  return derivedUuid('deployable', name) as DeployableUuid;
}

/** Not the whole info: the host may have chosen another object to carry the handle. */
function isAlike(one: AttachHandle, other: AttachHandle): boolean {
  const facts = (handle: AttachHandle) => [
    pick(handleCare, handle),
    handle.locality,
    handle.info.physical_network,
    handle.info.managed,
  ];
  return isDeepStrictEqual(facts(one), facts(other));
}

interface WantedDeployable {
  readonly deployable: Deployable;
  readonly offering?: Offering;
}

/**
 * A provider for the device, one for each function that was imported as a provider, and, below the
 * first, one for each region.
 */
function wantedDeployables(device: Device, discovered: DiscoveredDevice): WantedDeployable[] {
  const whole = findWhole(device.adopted);
  const name = whole?.name ?? derivedName(device.hostname, discovered);
  const { rest: offers, parts } = divideOffering(discovered.offers, device.adopted);
  const base = wantedDeployable(device, discovered, {
    name,
    ...present({ offering: offers, adopted: whole }),
  });
  const functionDeployables = parts.map(({ provider, offering }) =>
    wantedDeployable(device, discovered, { name: provider.name, offering, adopted: provider }),
  );
  const regions = discovered.regions.map((region) =>
    wantedDeployable(device, discovered, {
      name: `${name}_${region.name}`,
      offering: region,
      region,
      parent: base.deployable.providerUuid,
    }),
  );
  return [base, ...functionDeployables, ...regions];
}

interface Wanted {
  readonly name: string;
  readonly offering?: Offering;
  readonly adopted?: AdoptedProvider;
  readonly region?: DiscoveredRegion;
  readonly parent?: ProviderUuid;
}

function wantedDeployable(
  device: Device,
  discovered: DiscoveredDevice,
  { name, offering, adopted, region, parent }: Wanted,
): WantedDeployable {
  const attributes = factAttributes(discovered, offering);
  const traits = [...deriveTraits(discovered, region), ...(adopted?.traits ?? [])];
  return {
    deployable: {
      uuid: deployableUuid(name),
      providerUuid: adopted?.uuid ?? providerUuid(name),
      deviceUuid: device.uuid,
      hostname: device.hostname,
      name,
      driver: device.driver,
      deviceStatus: device.status,
      numAccelerators: offering?.numAccelerators ?? 0,
      traits: adopted ? [...new Set(traits)].sort() : traits,
      ...(region && pick(reportedRegionFacts, region)),
      isGone: false,
      createdAt: device.updatedAt ?? device.createdAt,
      ...present({
        parentProviderUuid: parent,
        resourceClass: offering?.resourceClass,
        attachTypes: offering && distinctTypes([offering]),
        region: region?.name,
        regionKind: region?.kind,
        functionUuids: region?.functionUuids,
        reportedAttributes: Object.keys(attributes).length > 0 ? attributes : undefined,
        unhealthy: isUnhealthy(discovered) ? (discovered.health?.reason ?? '') : undefined,
        hostAttachTypes: device.hostAttachTypes,
      }),
    },
    ...present({ offering }),
  };
}

/** The description of an imported device, with what servers have held since before the import. */
function withheldIfUnlike(
  hostname: string,
  { device, providers }: StoredDevice,
  discovered: DiscoveredDevice,
  now: string,
): DiscoveredDevice {
  const planned = wantedDeployables({ ...device, hostname }, discovered);
  const reported = new Set(
    planned.flatMap(({ deployable, offering }) =>
      (offering?.attachHandles ?? []).map((each) => wantedHandle(deployable, each, now).uuid),
    ),
  );
  const held = providers.flatMap(({ handles }) => handles.filter(mustStay));
  const isReported = ({ uuid }: AttachHandle) => reported.has(uuid);
  return withholdUnlike(discovered, held, isReported, { now, was: device.health });
}

/** The types of all handles of a device. */
export function attachTypesOf({ offers, regions }: DiscoveredDevice): AttachType[] {
  return distinctTypes([...(offers ? [offers] : []), ...regions]);
}

function distinctTypes(offerings: readonly Offering[]): AttachType[] {
  return [...new Set(offerings.flatMap((each) => each.attachHandles.map(({ type }) => type)))];
}

function wantedHandle(
  deployable: Deployable,
  handle: Offering['attachHandles'][number],
  now: string,
): AttachHandle {
  return {
    uuid: handleUuid(deployable.providerUuid, handle),
    providerUuid: deployable.providerUuid,
    ...pick(offeredHandle, handle),
    // Higher than any epoch of an earlier row of this handle: releases are rarer than
    // milliseconds.
    epoch: Date.parse(now),
    isGone: false,
  };
}

/** Derived from the handle's place at its provider, unless the host has given a uuid. */
export function handleUuid(
  provider: ProviderUuid,
  { type, info, uuid }: Pick<DiscoveredHandle, 'type' | 'info' | 'uuid'>,
): HandleUuid {
  const sorted = Object.entries(identifyingInfo(info)).sort(([a], [b]) => (a < b ? -1 : 1));
  return (uuid ?? derivedUuid('handle', provider, type, ...sorted.flat())) as HandleUuid;
}
