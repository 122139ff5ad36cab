// A device. A field belongs to the piece that says who is shown it; the report, the facts, the row
// and the answer follow.

import * as z from 'zod';
import {
  deviceAddress,
  driverName,
  id,
  optionalText,
  pciAddress,
  shortText,
  shown,
} from './derive/fields.ts';
import { offeredCard, unitCards } from './reported/offered-card.ts';
import type { DeviceUuid, InstanceUuid, ProviderUuid } from './vocabulary/ids.ts';
import {
  attachmentFaults,
  attachTypes,
  deviceStatuses,
  deviceTypes,
  healthStates,
} from './vocabulary/words.ts';

/** Part of the names of traits. */
export const deviceType = z
  .string()
  .regex(
    /^[A-Z][A-Z0-9_]{0,31}$/,
    `must be one of ${deviceTypes.join(', ')}, or another name of at most 32 letters, digits and _ in upper case`,
  )
  .meta({ examples: ['GPU'] });

/** Linux numbers fewer nodes (CONFIG_NODES_SHIFT is at most 10). */
const numaNodesMax = 1024;

const componentsMax = 16;

/** The name of a part of a device with an image of its own, such as `bmc` or `shell`. */
export const componentName = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/);
const versionText = z.string().regex(/^[\x21-\x7e]{1,64}$/);

/** A part of a device that takes an image, and what it runs now. */
export const componentFacts = z.object({
  name: componentName,
  version: versionText,
  /** The date of the version, as the vendor writes it. */
  date: z.string().max(32).optional(),
  digest: z.string().max(136).optional(),
  /** How much of an image is written; only while its host writes it. */
  percent: z.int().min(0).max(100).optional(),
});

export const deviceComponents = z.array(componentFacts).max(componentsMax);

/** Reported; the API shows it with the device. */
export const deviceFacts = z.object({
  type: deviceType,
  /** The driver's spelling, e.g. `0x8086`. */
  vendor: z
    .string()
    .min(1)
    .max(64)
    .meta({ examples: ['10de'] }),
  model: shortText,
  /** JSON text, passed through to the API. */
  std_board_info: z.string().max(4096).nullish(),
  vendor_board_info: z.string().max(4096).nullish(),
  components: shown(deviceComponents),
});

/** Reported; the API shows it to operators, with the device's host. */
export const operatorFacts = z.object({
  /**
   * PCI address of the physical function: the device's control path, and its key in the report.
   * A device without one has the kernel's name for it.
   */
  address: deviceAddress,
  driver: driverName,
});

const deviceHealth = z.object({
  state: z.enum(healthStates),
  /** A clause that completes "The device at <address> ...". */
  reason: shortText,
  /** ISO 8601, by the host's clock. */
  since: z.iso.datetime(),
  /** What an operator should do, in sentences; absent: the driver does not know. */
  next_step: shortText.optional(),
  /** Its repair ends with a reboot of the host; the incident has the commands. */
  needs_reboot: z.literal(true).optional(),
});

/** Reported; shown as attributes of the device's deployables, under the same names. */
export const attributeFacts = z.object({
  /** -1 is unknown, as Linux prints it; it is not shown. */
  numa_node: shown(
    z
      .int()
      .min(-1)
      .max(numaNodesMax - 1),
  ),
  /** The root port above the device: devices below the same one share its link. */
  pcie_root: shown(pciAddress),
  /** The version, as the vendor writes it. */
  firmware: shown(z.string().min(1).max(64)),
  health: shown(deviceHealth),
});

/** Keys that the control plane gives to what it derives itself. */
const derivedKey = new RegExp(
  `^(rc|traits[0-9]+|pool|region_type|bitstream|functions|${Object.keys(attributeFacts.shape).join('|')})$`,
);
/** What a driver may name an attribute. */
export const attributeKey = z
  .string()
  .regex(/^[a-z][a-z0-9_.-]{0,63}$/)
  .refine((key) => !derivedKey.test(key));
const reportedAttributesMax = 32;

/** Texts of a device, or of a part of it that is allocated by itself. */
export const reportedAttributes = z
  .record(attributeKey, z.string().max(255))
  .refine((attributes) => Object.keys(attributes).length <= reportedAttributesMax);

/** A service beside ours that gives the device to servers. */
const otherOwner = z.object({
  /** Such as Nova; a tenant may read it. */
  name: shortText,
  /** How it says so: a setting, or a resource provider. */
  by: shortText,
});

/** The mark of such a device; since when, ISO 8601. */
export const offeredTwice = z.object({ ...otherOwner.shape, since: z.string() });

/** Reported and stored; no answer has it. */
const innerFacts = z.object({
  product: z.string().min(1).max(64),
  /**
   * What stays with the card when it is moved to another slot: a serial number, or a uuid that
   * the vendor gave it. Absent where the device has none.
   */
  identity: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/)
    .optional(),
  /** Set where a service beside ours gives the device out, too. */
  other_owner: otherOwner.optional(),
  card: shown(offeredCard),
  unit_cards: shown(unitCards),
});

/** All that a report says of a device and its row keeps. */
export const reportedFacts = z.object({
  ...operatorFacts.shape,
  ...deviceFacts.shape,
  ...innerFacts.shape,
  ...attributeFacts.shape,
});

/** Who set a device's status, when, and why. */
export const statusChange = z.object({
  status: z.enum(deviceStatuses),
  by: z.string(),
  at: z.string(),
  reason: optionalText,
  request_id: optionalText,
  /** The whole host was drained: its resume enables the device again. */
  drain: z.literal(true).exactOptional(),
  /** When the drain was to end; ISO 8601. */
  until: optionalText,
  /** The program of a component that enables the device again when it has succeeded. */
  program: optionalText,
});

/** Who released handles of a device by force, when, and why. */
export const forceNote = z.object({
  by: z.string(),
  at: z.string(),
  /** The operator stated that the device is clean; its host did not clean it. */
  is_cleaned: z.boolean(),
  reason: optionalText,
});

/** What a component of a model must run, as an operator has set it. */
export const firmwareBaseline = z.object({
  /** Vendor and product, such as `8086:0b30`. */
  model: z
    .string()
    .regex(/^[^\s:,]{1,64}:[^\s:,]{1,64}$/, 'must be vendor:product, such as 8086:0b30'),
  component: componentName,
  version: versionText,
  by: z.string(),
  /** ISO 8601. */
  at: z.string(),
});

/** Why a device takes no new binds, as long as a hold matches it. */
export const holdMark = z.object({
  id: z.string(),
  reason: z.string(),
  /** When the hold ends by itself; ISO 8601. */
  until: optionalText,
  by: z.string(),
  at: z.string(),
});

/** An operator lets a project program the device until then; ISO 8601, as all times here. */
export const programGrant = z.object({
  project_id: z.string(),
  until: z.string(),
  by: z.string(),
  at: z.string(),
});

/** A provider that an import took over from another service. */
export const adoptedProvider = z.object({
  uuid: id<ProviderUuid>(),
  name: z.string(),
  /** Kept beside our own: profiles that require them were written for the earlier service. */
  traits: z.array(z.string()),
  /** The one function of the device that it offers; absent where it offers the whole device. */
  address: optionalText,
});

export const cardPlace = z.object({ hostname: z.string(), address: z.string() });

/** Set for a card that was found not clean, or not known to be; see core/domain. */
export const cardCleaning = z.object({
  /** Since when it is not offered; ISO 8601, as all times here. */
  withheld_since: optionalText,
  /** Where it is held or not clean; absent for a card seen for the first time. */
  held_at: cardPlace.exactOptional(),
  /** When its host was asked to clean all of its handles. */
  asked_at: optionalText,
  /** When the last cleaning of all of its handles began: what was left before is gone. */
  cleaned_at: optionalText,
});

export const storedHealth = deviceHealth.extend({
  /** Since when its host finds no fault; the device is still not offered. */
  healthy_since: optionalText,
});

/** A running server lacks a unit of the device that is bound to it, or has it without a bind. */
export const attachmentFault = z.object({
  kind: z.enum(attachmentFaults),
  unit: z.string(),
  /** The server that it is bound to; where it is bound to none, the one that has it. */
  instance_uuid: id<InstanceUuid>(),
  /** The project of the server that it is bound to. */
  project_id: optionalText,
  /** Another server has it. */
  held_by: optionalText,
  since: z.string(),
});

/** What each report replaces as a whole. */
export const describedDevice = z.object({
  uuid: id<DeviceUuid>(),
  hostname: z.string(),
  ...reportedFacts.shape,
  health: storedHealth.exactOptional(),
  /** The last description has them. */
  attachment_faults: z.array(attachmentFault).exactOptional(),
  /** From the last report that described it; see core/contracts/report/device-digest.ts. */
  digest: z.string(),
  /** Its providers in Placement, parents first, as they must be created. */
  providers: z.array(id<ProviderUuid>()),
  adopted: z.array(adoptedProvider).exactOptional(),
  card_cleaning: cardCleaning.exactOptional(),
  /** The host no longer reports it. The row stays until no claim and no allocation is left. */
  is_gone: z.boolean(),
  /** Number of attach handles in the last report that described it. */
  handle_count: z.number().exactOptional(),
  /** Those of its attach handles; absent in rows that an earlier release wrote. */
  attach_types: z.array(z.enum(attachTypes)).exactOptional(),
  /** Copy of the host's. */
  host_attach_types: z.array(z.enum(attachTypes)).exactOptional(),
  created_at: z.string(),
  updated_at: optionalText,
});

/** What operators and the control plane write; no report changes it. */
export const deviceState = z.object({
  status: z.enum(deviceStatuses),
  /** The last change; undefined if no operator has set the status. */
  status_change: statusChange.exactOptional(),
  /** The last time an operator released its handles by force. */
  forced: forceNote.exactOptional(),
  /** Since when two agents report as its host, ISO 8601: no bind takes the device. */
  conflict_since: optionalText,
  /** No bind takes it while another service offers it, too. */
  offered_twice: offeredTwice.exactOptional(),
  /** The holds that match it; empty where none does any more. */
  holds: z.array(holdMark).exactOptional(),
});

export const device = z.object({ ...describedDevice.shape, ...deviceState.shape });
