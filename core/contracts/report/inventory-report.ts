// The report of an agent about its host. It always has the manifest (a digest per device), and
// describes the devices that are new or changed; an unchanged host sends the manifest alone, as a
// heartbeat. Keys of regions have hyphens, as in the agent-driver specification.

import * as z from 'zod';
import {
  attachHandle,
  discoveredHandle,
  type ReportedHandle,
} from '#core/contracts/attach-handle.ts';
import { readHostname } from '#core/contracts/topics.ts';
import {
  type DiscoveredDevice,
  type DiscoveredRegion,
  identifyingInfo,
  type Offering,
} from '#core/domain/device/device.ts';
import type { ClockSkew } from '#core/domain/host/clock-skew.ts';
import { offeringFacts, regionIdentity, reportedRegionFacts } from '#core/shapes/deployable.ts';
import { fromWire, isNullish } from '#core/shapes/derive/case.ts';
import { hyphened } from '#core/shapes/derive/derive.ts';
import { deviceAddress, shown } from '#core/shapes/derive/fields.ts';
import { present } from '#core/shapes/derive/present.ts';
import { clockSkew, hostFacts, notOffered } from '#core/shapes/host.ts';
import { reportedDevice as deviceShape } from '#core/shapes/reported/device.ts';
import { providerNameLengthMax } from '#core/shapes/vocabulary/placement-names.ts';
import { canonicalJson } from './device-digest.ts';
import { findUuidFault } from './mdev-uuids.ts';

/** AWS IoT refuses larger messages. https://docs.aws.amazon.com/general/latest/gr/iot-core.html */
export const reportBytesMax = 128 * 1024;

/**
 * Interval of heartbeats of an unchanged host. Presence events show sooner that an agent is gone;
 * heartbeats make up for lost ones (core/domain/host/presence.ts).
 */
export const heartbeatSeconds = 1200;

/** The allocatable part: Placement's class and amount, with a handle for each accelerator. */
const offering = z.object({
  ...offeringFacts.shape,
  attach_handles: z.array(attachHandle).max(4096),
});

const regionFields = z.object({
  ...regionIdentity.shape,
  ...hyphened(reportedRegionFacts),
  'function-uuid': z.guid().nullish(),
  /** Functions of the image beside the first. */
  'function-uuids': z.array(z.guid()).max(16).optional(),
});
const region = z.object({ ...regionFields.shape, ...offering.shape });
export type ReportedRegion = z.infer<typeof region>;

const deviceFields = z.object({
  ...deviceShape.shape,
  /** Absent if only the regions can be allocated. */
  offers: offering.optional(),
  /** A region's name is its key: it names its provider, and its deployable. */
  regions: z
    .array(region)
    .max(32)
    .refine(
      (regions) => new Set(regions.map(({ name }) => name)).size === regions.length,
      'duplicate region name',
    ),
});
export const reportedDevice = deviceFields.superRefine((device, context) => {
  const fault = (message: string) => context.addIssue({ code: 'custom', message });
  for (const { attach_handles: handles, num_accelerators: count = 0 } of listOfferings(device)) {
    if (count > handles.length) {
      fault(`num_accelerators is ${count}, and there are ${handles.length} attach handles`);
    }
  }
  const twice = findDuplicate(listHandles(device).map(handleIdentity));
  if (twice) fault(`duplicate attach handle: ${twice}`);
  const uuid = findDuplicate(uuidsOf(device));
  if (uuid) fault(`duplicate uuid of an attach handle: ${uuid}`);
});
export type ReportedDevice = z.infer<typeof reportedDevice>;

type Offerings = Pick<z.infer<typeof deviceFields>, 'offers' | 'regions'>;

export function listOfferings({ offers, regions }: Offerings) {
  return [...(offers ? [offers] : []), ...regions];
}

export function listHandles(device: Offerings): ReportedHandle[] {
  return listOfferings(device).flatMap((each) => each.attach_handles);
}

function uuidsOf(device: Offerings): string[] {
  return listHandles(device).flatMap(({ uuid }) => uuid?.toLowerCase() ?? []);
}

function handleIdentity({ type, info }: ReportedHandle): string {
  return `${type} ${canonicalJson(identifyingInfo(info))}`;
}

function findDuplicate(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

/** The most that a report names. */
export const notOfferedMax = 128;

export type NotOffered = z.infer<typeof notOffered>;

/** Names a description of a device. Only its agent knows how it is made. */
const deviceDigest = z.string().regex(/^[0-9a-f]{16}$/);

const reportFields = {
  /** Version of the message's form. A control plane also accepts the previous one. */
  version: z.literal(1),
  /** The form of jobs that the agent reads; absent: 1. */
  form: z.number().int().min(1).optional(),
  ...hostFacts.shape,
  /** The kernel's boot id: a new one means that the host lost all mdevs and programs. */
  boot_id: z.guid(),
  /** Increases with each report of one boot; an older report changes nothing. */
  sequence: z.number().int().min(0),
  /** Digest of each device of the host, changed or not. */
  manifest: z.record(deviceAddress, deviceDigest),
  /** Drivers that failed; the devices that they reported before are kept. */
  failed_drivers: z.array(z.string().max(64)).max(64),
  /**
   * The first report of an agent, before its drivers were asked: it names the boot, and lists all
   * drivers as failed.
   */
  is_hello: z.boolean().optional(),
  /**
   * The agent does not know which cards it offered before: it has lost its state, or is new. The
   * control plane answers with `cardsMessage`.
   */
  asks_cards: z.literal(true).optional(),
  /** What the host's settings name, and why it is not offered. */
  not_offered: z.array(notOffered).max(notOfferedMax).optional(),
  /**
   * Types of attach handles that the host's hypervisor takes; absent: what the deployment says. A
   * newer agent may name types that the control plane does not know.
   */
  attach_types: z.array(z.string().max(64)).max(16).optional(),
  /**
   * How far the host's clock is ahead of the control plane's, as the agent has measured it by the
   * answers of AWS IoT Jobs: a report may wait in a queue, so its own time would say less.
   */
  clock: shown(clockSkew),
};

const devicesMax = 4096;

export const inventoryReport = z.object({
  ...reportFields,
  devices: z.array(reportedDevice).max(devicesMax),
});
export type InventoryReport = z.infer<typeof inventoryReport>;

/** A report before its devices are checked: one invalid device must not hide the others. */
export const receivedReport = z.object({
  ...reportFields,
  devices: z.array(z.unknown()).max(devicesMax),
});

export interface AcceptedReport extends InventoryReport {
  /** Address → reason why the device is refused; its stored rows stay. */
  readonly refused?: Readonly<Record<string, string>>;
}

/** The first reports of an agent come before it has measured its clock. */
export function clockAfter(
  { clock, agent_version: version }: AcceptedReport,
  stored: { readonly agentVersion?: string; readonly clock?: ClockSkew },
): ClockSkew | undefined {
  if (clock) return fromWire(clockSkew, clock);
  return version === stored.agentVersion ? stored.clock : undefined;
}

/** nova-compute may be down: what it was before still counts. */
export function novaVersionsAfter(
  { nova_versions: reported }: AcceptedReport,
  stored: { readonly novaVersions?: readonly string[] },
): readonly string[] | undefined {
  return reported && reported.length > 0 ? reported : stored.novaVersions;
}

/** @param thing whose report it is: its providers and mdevs are named by it */
export function acceptReport(
  thing: string,
  received: z.infer<typeof receivedReport>,
): AcceptedReport {
  const devices: ReportedDevice[] = [];
  const refused: Record<string, string> = {};
  const taken = new Set<string>();
  for (const each of received.devices) {
    const parsed = reportedDevice.safeParse(each);
    const reason = parsed.success
      ? (findNameFault(readHostname(thing), parsed.data, taken) ??
        findMdevFault(thing, parsed.data, taken))
      : parsed.error.issues.map(describeFault).join('; ').slice(0, 500);
    const address = deviceAddress.safeParse((each as { address?: unknown } | null)?.address);
    if (parsed.success && reason === undefined) devices.push(parsed.data);
    else refused[address.data ?? 'without an address'] = reason ?? '';
  }
  return { ...received, devices, refused };
}

/**
 * Provider names must be unique in Placement, and not too long.
 *
 * @param taken names and uuids of the devices before it; gets those of this one
 */
function findNameFault(
  hostname: string,
  { address, provider_suffix: suffix, regions }: ReportedDevice,
  taken: Set<string>,
): string | undefined {
  const base = `${hostname}_${suffix ?? address}`;
  const names = [base, ...regions.map(({ name }) => `${base}_${name}`)];
  const long = names.find((name) => name.length > providerNameLengthMax);
  if (long) return `the provider's name has ${long.length} characters: ${long}`;
  const twice = takeNames(names, taken);
  return twice && `another device has a provider named ${twice}`;
}

/** The uuid of an attach handle must be unique in the cloud. */
function findMdevFault(
  thing: string,
  device: ReportedDevice,
  taken: Set<string>,
): string | undefined {
  for (const handle of listHandles(device)) {
    const fault = findUuidFault(thing, device.address, handle);
    if (fault) return fault;
  }
  const twice = takeNames(uuidsOf(device), taken);
  return twice && `another device has an attach handle with the uuid ${twice}`;
}

/** Adds the names; returns one that is there already. */
function takeNames(names: readonly string[], taken: Set<string>): string | undefined {
  const twice = names.find((name) => taken.has(name));
  for (const name of names) taken.add(name);
  return twice;
}

function describeFault({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length > 0 ? `${path.map(String).join('.')}: ${message}` : message;
}

/** An optional text that is empty says nothing. */
function isEmpty(value: unknown): boolean {
  return isNullish(value) || value === '';
}

/** The reported device as a domain object. */
export function discoveredDevice(
  reported: ReportedDevice,
  { manifest }: Pick<InventoryReport, 'manifest'>,
): DiscoveredDevice {
  const { numaNode = -1, ...facts } = fromWire(deviceShape, reported, isEmpty);
  return {
    ...facts,
    ...present({
      numaNode: numaNode < 0 ? undefined : numaNode,
      offers: reported.offers && discoveredOffering(reported.offers),
    }),
    regions: reported.regions.map(discoveredRegion),
    digest: manifest[reported.address] ?? '',
  };
}

function discoveredRegion(reported: ReportedRegion): DiscoveredRegion {
  const {
    functionUuid: first,
    functionUuids: others = [],
    ...facts
  } = fromWire(regionFields, reported);
  const functionUuids = [...new Set([...(first ? [first] : []), ...others])];
  return {
    ...facts,
    ...(functionUuids.length > 0 && { functionUuids }),
    ...discoveredOffering(reported),
  };
}

function discoveredOffering(reported: z.infer<typeof offering>): Offering {
  return {
    ...fromWire(offeringFacts, reported, isEmpty),
    numAccelerators: reported.num_accelerators ?? reported.attach_handles.length,
    attachHandles: reported.attach_handles.map(discoveredHandle),
  };
}
