// The report of an agent about its host. It always has the manifest (a digest per device), and
// describes the devices that are new or changed; an unchanged host sends the manifest alone, as a
// heartbeat. Keys of regions have hyphens, as in the agent-driver specification.

import * as z from 'zod';
import {
  attachTypes,
  type DiscoveredDevice,
  type DiscoveredHandle,
  deviceTypes,
  type Offering,
  preparations,
} from '../domain/device.ts';
import {
  isOfferedClass,
  isOfferedTrait,
  providerNameLengthMax,
  standardClasses,
} from '../domain/placement-names.ts';
import { regionKinds } from '../domain/region-kinds.ts';
import { canonicalJson } from './device-digest.ts';

/** AWS IoT refuses larger messages. https://docs.aws.amazon.com/general/latest/gr/iot-core.html */
export const reportBytesMax = 128 * 1024;

/** Interval of heartbeats of an unchanged host. */
export const heartbeatSeconds = 300;

/** `DDDD:BB:DD.F`, lower case; the domain may have more than four digits (VMD, Hyper-V). */
export const pciAddress = z.string().regex(/^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]$/);

/** The name of a driver. */
export const driverName = z.string().regex(/^[a-z0-9_]{1,64}$/);

const shortText = z.string().max(255);
const traitName = z
  .string()
  .refine(isOfferedTrait, { error: ({ input }) => `trait ${shown(input)} is not CUSTOM_*` });
const resourceClass = z.string().refine(isOfferedClass, {
  error: ({ input }) =>
    `resource class ${shown(input)} is neither one of ${standardClasses.join(', ')} nor CUSTOM_*`,
});

function shown(input: unknown): string {
  return JSON.stringify(String(input).slice(0, 64));
}

const pciInfo = z.object({
  domain: z.string().regex(/^[0-9a-f]{4,8}$/),
  bus: z.string().regex(/^[0-9a-f]{2}$/),
  device: z.string().regex(/^[0-9a-f]{1,2}$/),
  function: z.string().regex(/^[0-7]$/),
});
const mdevInfo = z.object({
  domain: pciInfo.shape.domain.optional(),
  bus: pciInfo.shape.bus.optional(),
  device: pciInfo.shape.device.optional(),
  function: pciInfo.shape.function.optional(),
  asked_type: z.string('an MDEV handle must have asked_type').regex(/^[a-zA-Z0-9_-]{1,64}$/),
  /** Distinguishes the mdevs of one type. */
  vgpu_mark: z
    .string()
    .regex(/^[a-zA-Z0-9_.:-]{1,64}$/)
    .optional(),
});

/** AWS IoT ends a job that is in progress for seven days. */
export const cleanSecondsMax = 5 * 24 * 3600;

/** Not a bus address: the fake driver numbers its functions in decimals, as Cyborg's does. */
const testInfo = pciInfo.extend({ device: z.string().regex(/^[0-9a-f]{1,4}$/) });
const handleInfo = { PCI: pciInfo, TEST_PCI: testInfo, MDEV: mdevInfo };

interface Attached {
  readonly type: keyof typeof handleInfo;
  readonly info: Readonly<Record<string, string>>;
}

/** What Nova attaches. `info` is Cyborg's `attach_handle_info`. */
export const attachedAs = {
  type: z.enum(attachTypes),
  info: z.record(z.string().max(64), shortText),
};

/** Adds an issue for each part of `info` that the type requires otherwise. */
export function checkInfo({ type, info }: Attached, context: z.RefinementCtx): void {
  const { error } = handleInfo[type].safeParse(info);
  for (const { path, message } of error?.issues ?? []) {
    context.addIssue({ code: 'custom', path: ['info', ...path], message });
  }
}

/** Gives a hypervisor one accelerator. */
export const attachHandle = z
  .object({
    ...attachedAs,
    /** Of an object that exists already, for example an mdev; otherwise the cloud gives it one. */
    uuid: z.guid().optional(),
    /** Whether a job prepares it for each bind, or the agent has made it before any bind. */
    prepare: z.enum(preparations).optional(),
    /** The longest time that the host cleans it after a holder; absent if it does not. */
    clean_seconds: z.number().int().min(1).max(cleanSecondsMax).optional(),
  })
  .superRefine(checkInfo);
export type ReportedHandle = z.infer<typeof attachHandle>;

/** The allocatable part: Placement's class and amount, with a handle for each accelerator. */
const offering = {
  resource_class: resourceClass,
  /** Traits beyond those that follow from type, vendor and product. */
  traits: z.array(traitName).max(64),
  attach_handles: z.array(attachHandle).max(4096),
  /** Inventory total; one per handle unless several handles make one accelerator. */
  num_accelerators: z.number().int().min(0).max(4096).optional(),
};

/** A part of a device that is allocated by itself; it becomes a provider of its own. */
export const region = z.object({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
  kind: z.enum(regionKinds),
  'region-type-uuid': z.guid().nullish(),
  'bitstream-id': z.guid().nullish(),
  'function-uuid': z.guid().nullish(),
  ...offering,
});
export type ReportedRegion = z.infer<typeof region>;

const deviceFields = z.object({
  /**
   * PCI address of the physical function: the device's control path, and its key in the report.
   */
  address: pciAddress,
  driver: driverName,
  type: z.enum(deviceTypes),
  /** As the driver reads it, e.g. `0x8086`. */
  vendor: z.string().min(1).max(64),
  product: z.string().min(1).max(64),
  model: shortText,
  /** JSON text, passed through to the API. */
  std_board_info: z.string().max(4096).nullish(),
  vendor_board_info: z.string().max(4096).nullish(),
  /** Names the provider in place of the address, as for the fake driver. */
  provider_suffix: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,64}$/)
    .optional(),
  /** Absent if only the regions can be allocated. */
  offers: z.object(offering).optional(),
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
  const offerings = [...(device.offers ? [device.offers] : []), ...device.regions];
  for (const { attach_handles: handles, num_accelerators: count = 0 } of offerings) {
    const message = `num_accelerators is ${count}, and there are ${handles.length} attach handles`;
    if (count > handles.length) context.addIssue({ code: 'custom', message });
  }
  const twice = duplicateOf(offerings.flatMap((each) => each.attach_handles.map(handleIdentity)));
  if (twice) context.addIssue({ code: 'custom', message: `duplicate attach handle: ${twice}` });
});
export type ReportedDevice = z.infer<typeof reportedDevice>;

function handleIdentity({ type, info }: ReportedHandle): string {
  return `${type} ${canonicalJson(info)}`;
}

function duplicateOf(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

/** SHA-256 of the device's canonical JSON, first 16 hexadecimal digits. */
export const deviceDigest = z.string().regex(/^[0-9a-f]{16}$/);

const reportFields = {
  /** Version of the message's form. A control plane also accepts the previous one. */
  version: z.literal(1),
  agent_version: z.string().max(64),
  /** The kernel's boot id: a new one means that the host lost all mdevs and programs. */
  boot_id: z.guid(),
  /** Increases with each report of one boot; an older report changes nothing. */
  sequence: z.number().int().min(0),
  /** Digest of each device of the host, changed or not. */
  manifest: z.record(pciAddress, deviceDigest),
  /** Drivers that failed; the devices that they reported before are kept. */
  failed_drivers: z.array(z.string().max(64)).max(64),
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

/** @param hostname whose report it is: the names of its providers begin with it */
export function acceptReport(
  hostname: string,
  received: z.infer<typeof receivedReport>,
): AcceptedReport {
  const devices: ReportedDevice[] = [];
  const refused: Record<string, string> = {};
  const providers = new Set<string>();
  for (const each of received.devices) {
    const parsed = reportedDevice.safeParse(each);
    const reason = parsed.success
      ? nameFaultOf(hostname, parsed.data, providers)
      : parsed.error.issues.map(faultOf).join('; ').slice(0, 500);
    const address = pciAddress.safeParse((each as { address?: unknown } | null)?.address);
    if (parsed.success && reason === undefined) devices.push(parsed.data);
    else refused[address.data ?? 'without an address'] = reason ?? '';
  }
  return { ...received, devices, refused };
}

/** Provider names must be unique in Placement, and not too long. */
function nameFaultOf(
  hostname: string,
  { address, provider_suffix: suffix, regions }: ReportedDevice,
  known: Set<string>,
): string | undefined {
  const own = `${hostname}_${suffix ?? address}`;
  const names = [own, ...regions.map(({ name }) => `${own}_${name}`)];
  const long = names.find((name) => name.length > providerNameLengthMax);
  if (long) return `the provider's name has ${long.length} characters: ${long}`;
  const taken = names.find((name) => known.has(name));
  for (const name of names) known.add(name);
  return taken && `another device has a provider named ${taken}`;
}

function faultOf({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length > 0 ? `${path.map(String).join('.')}: ${message}` : message;
}

/** The reported device as a domain object. */
export function discoveredDevice(reported: ReportedDevice, digest: string): DiscoveredDevice {
  return {
    address: reported.address,
    driver: reported.driver,
    type: reported.type,
    vendor: reported.vendor,
    product: reported.product,
    model: reported.model,
    ...(reported.std_board_info && { stdBoardInfo: reported.std_board_info }),
    ...(reported.vendor_board_info && { vendorBoardInfo: reported.vendor_board_info }),
    ...(reported.provider_suffix && { providerSuffix: reported.provider_suffix }),
    ...(reported.offers && { offers: discoveredOffering(reported.offers) }),
    regions: reported.regions.map((each) => ({
      name: each.name,
      kind: each.kind,
      ...(each['region-type-uuid'] && { regionTypeUuid: each['region-type-uuid'] }),
      ...(each['bitstream-id'] && { bitstreamId: each['bitstream-id'] }),
      ...(each['function-uuid'] && { functionUuid: each['function-uuid'] }),
      ...discoveredOffering(each),
    })),
    digest,
  };
}

function discoveredOffering(reported: NonNullable<ReportedDevice['offers']>): Offering {
  return {
    resourceClass: reported.resource_class,
    numAccelerators: reported.num_accelerators ?? reported.attach_handles.length,
    traits: reported.traits,
    attachHandles: reported.attach_handles.map(discoveredHandle),
  };
}

/** `info` without the keys that its type does not have: a newer agent may send more. */
function knownInfo({ type, info }: ReportedHandle): Record<string, string> {
  const known = Object.keys(handleInfo[type].shape);
  return Object.fromEntries(Object.entries(info).filter(([name]) => known.includes(name)));
}

function discoveredHandle(reported: ReportedHandle): DiscoveredHandle {
  const { type, uuid, prepare, clean_seconds: cleanSeconds } = reported;
  return {
    type,
    info: knownInfo(reported),
    ...(uuid && { uuid: uuid.toLowerCase() }),
    ...(prepare && { prepare }),
    ...(cleanSeconds !== undefined && { cleanSeconds }),
  };
}
