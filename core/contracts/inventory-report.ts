// What an agent tells about its host. A report always carries the manifest (a digest per device) and
// those devices that are new or changed; unchanged hosts send the manifest alone, as a heartbeat.
// Keys of regions are spelled as the agent-driver specification spells them, with hyphens.

import * as z from 'zod';
import { type DiscoveredDevice, deviceTypes, type Offering } from '../domain/device.ts';
import { digestOf } from './device-digest.ts';

/** AWS IoT refuses larger messages. https://docs.aws.amazon.com/general/latest/gr/iot-core.html */
export const reportBytesMax = 128 * 1024;

/** An unchanged host still says so, this often. */
export const heartbeatSeconds = 300;

/** `DDDD:BB:DD.F`, lower case; the domain may have more than four digits (VMD, Hyper-V). */
export const pciAddress = z.string().regex(/^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]$/);

const shortText = z.string().max(255);
const traitName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/)
  .max(255);
const resourceClass = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/)
  .max(255);

/** How a hypervisor takes hold of one accelerator. `info` is Cyborg's `attach_handle_info`. */
export const attachHandle = z
  .object({
    type: z.enum(['PCI', 'MDEV', 'TEST_PCI']),
    info: z.record(z.string().max(64), shortText),
  })
  .refine(
    ({ type, info }) => type !== 'MDEV' || /^[a-zA-Z0-9_-]{1,64}$/.test(info.asked_type ?? ''),
    'an MDEV handle says its asked_type',
  );
export type ReportedHandle = z.infer<typeof attachHandle>;

/** What can be allocated: Placement's class and how many of it, each with a handle. */
const offering = {
  resource_class: resourceClass,
  /** What the driver adds to the traits that follow from type, vendor and product. */
  traits: z.array(traitName).max(64),
  attach_handles: z.array(attachHandle).max(4096),
  /** Inventory total; one per handle unless several handles make one accelerator. */
  num_accelerators: z.number().int().min(0).max(4096).optional(),
};

/** A reconfigurable region of an FPGA; it becomes a provider of its own. */
export const region = z.object({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
  'region-type-uuid': z.guid().nullish(),
  'bitstream-id': z.guid().nullish(),
  'function-uuid': z.guid().nullish(),
  ...offering,
});
export type ReportedRegion = z.infer<typeof region>;

export const reportedDevice = z.object({
  /** PCI address of the physical function: the device's control path, and its key in the report. */
  address: pciAddress,
  driver: z.string().regex(/^[a-z0-9_]{1,64}$/),
  type: z.enum(deviceTypes),
  /** As the driver reads it, e.g. `0x8086`. */
  vendor: z.string().min(1).max(64),
  product: z.string().min(1).max(64),
  model: shortText,
  /** JSON text, passed through to the API. */
  std_board_info: z.string().max(4096).nullish(),
  vendor_board_info: z.string().max(4096).nullish(),
  /** Names the provider where it must not follow from the address (the fake driver's does not). */
  provider_suffix: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,64}$/)
    .optional(),
  /** Absent where only the regions can be allocated. */
  offers: z.object(offering).optional(),
  /** A region's name is its key: it names its provider, and its deployable. */
  regions: z
    .array(region)
    .max(32)
    .refine(
      (regions) => new Set(regions.map(({ name }) => name)).size === regions.length,
      'two regions have one name',
    ),
});
export type ReportedDevice = z.infer<typeof reportedDevice>;

/** SHA-256 of the device's canonical JSON, first 16 hexadecimal digits. */
export const deviceDigest = z.string().regex(/^[0-9a-f]{16}$/);

export const inventoryReport = z.object({
  /** Of this message's form. A control plane also accepts the one before. */
  version: z.literal(1),
  agent_version: z.string().max(64),
  /** The kernel's boot id: a new one means that everything made on the host is gone. */
  boot_id: z.guid(),
  /** Increases with each report of one boot; an older report changes nothing. */
  sequence: z.number().int().min(0),
  /** All devices of the host, changed or not, and the digest of each. */
  manifest: z.record(pciAddress, deviceDigest),
  /** Drivers that could not look; what they reported before is kept, not removed. */
  failed_drivers: z.array(z.string().max(64)).max(64),
  devices: z.array(reportedDevice).max(4096),
});
export type InventoryReport = z.infer<typeof inventoryReport>;

/** The reported device in the domain's words. */
export function discoveredDevice(reported: ReportedDevice): DiscoveredDevice {
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
      ...(each['region-type-uuid'] && { regionTypeUuid: each['region-type-uuid'] }),
      ...(each['bitstream-id'] && { bitstreamId: each['bitstream-id'] }),
      ...(each['function-uuid'] && { functionUuid: each['function-uuid'] }),
      ...discoveredOffering(each),
    })),
    digest: digestOf(reported),
  };
}

function discoveredOffering(reported: NonNullable<ReportedDevice['offers']>): Offering {
  return {
    resourceClass: reported.resource_class,
    numAccelerators: reported.num_accelerators ?? reported.attach_handles.length,
    traits: reported.traits,
    attachHandles: reported.attach_handles,
  };
}
