// A deployable: the resource provider of a device, or of a region of it.

import * as z from 'zod';
import { id, optionalText, shown, texts, verified } from './derive/fields.ts';
import { reportedAttributes } from './device.ts';
import type { DeployableUuid, DeviceUuid, ProviderUuid } from './vocabulary/ids.ts';
import { isOfferedClass, isOfferedTrait, standardClasses } from './vocabulary/placement-names.ts';
import { attachTypes, deviceStatuses, programStates, regionKinds } from './vocabulary/words.ts';

const traitName = z
  .string()
  .refine(isOfferedTrait, { error: ({ input }) => `trait ${quoted(input)} is not CUSTOM_*` });
const resourceClass = z.string().refine(isOfferedClass, {
  error: ({ input }) =>
    `resource class ${quoted(input)} is neither one of ${standardClasses.join(', ')} nor CUSTOM_*`,
});

function quoted(input: unknown): string {
  return JSON.stringify(String(input).slice(0, 64));
}

/** Reported with the handles of a device or region that can be allocated. */
export const offeringFacts = z.object({
  /** What the units are, where the settings of the host choose it, such as a type of vGPU. */
  pool: shown(z.string().max(64)),
  /** Those of a region, beside the device's and before them: the memory that it can reach. */
  attributes: shown(reportedAttributes),
  resource_class: resourceClass,
  /** Traits beyond those that follow from type, vendor and product. */
  traits: z.array(traitName).max(64),
  /** Inventory total; one per handle unless several handles make one accelerator. */
  num_accelerators: z.number().int().min(0).max(4096).optional(),
});

/** Reported of a region, and shown with its deployable. */
export const regionFacts = z.object({ bitstream_id: z.guid().nullish() });

/** Reported of a region and stored; no answer has it. */
const innerRegionFacts = z.object({ region_type_uuid: z.guid().nullish() });

/** All that a report says of a region and its deployable's row keeps under the same name. */
export const reportedRegionFacts = z.object({ ...regionFacts.shape, ...innerRegionFacts.shape });

/** A part of a device that is allocated by itself; it becomes a provider of its own. */
export const regionIdentity = z.object({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
  kind: z.enum(regionKinds),
});

/** The last time an operator had a region programmed. */
export const programNote = z.object({
  /** Uuid of the image in Glance. */
  image: z.string(),
  by: z.string(),
  at: z.string(),
  state: z.enum(programStates),
  reason: optionalText,
});

/** The last program of a component of a device. */
export const componentNote = z.object({
  ...programNote.shape,
  /** Names the program; its host may be asked again, after a boot, under another id. */
  id: z.string(),
  component: z.string(),
  version: z.string(),
  /** Since when it has its state, if that is not the one it began with; ISO 8601. */
  since: optionalText,
  /** What the host has verified. */
  evidence: verified.exactOptional(),
});

/** What each report replaces as a whole. */
export const describedDeployable = z.object({
  uuid: id<DeployableUuid>(),
  provider_uuid: id<ProviderUuid>(),
  /** Undefined for a device's own provider: its parent is the compute node's provider. */
  parent_provider_uuid: id<ProviderUuid>().exactOptional(),
  device_uuid: id<DeviceUuid>(),
  hostname: z.string(),
  /** The provider's name, unique in the cloud. */
  name: z.string(),
  /** The region's name, as the driver calls it; absent for a whole device. */
  region: optionalText,
  /** Present where `region` is. */
  region_kind: z.enum(regionKinds).exactOptional(),
  driver: z.string(),
  /** Absent where only the regions below it can be allocated. */
  resource_class: optionalText,
  num_accelerators: z.number(),
  /** The types of all its reported handles: a bind reads some of them only. */
  attach_types: z.array(z.enum(attachTypes)).exactOptional(),
  /** Copy of the host's. */
  host_attach_types: z.array(z.enum(attachTypes)).exactOptional(),
  traits: z.array(z.string()),
  ...reportedRegionFacts.shape,
  /** The functions of the image in it. */
  function_uuids: z.array(z.string()).exactOptional(),
  /** What its host says of it, by key, for people to read. */
  reported_attributes: texts.exactOptional(),
  /** Copy of the device's: why no bind takes it. */
  unhealthy: optionalText,
  is_gone: z.boolean(),
  created_at: z.string(),
  updated_at: optionalText,
});

/** Copies of the device's. */
const marks = {
  conflict_since: optionalText,
  /** The name of the other service that offers the device. */
  offered_twice: optionalText,
  /** A hold matches the device. */
  is_on_hold: z.boolean().exactOptional(),
};
export const deployable = z.object({ ...describedDeployable.shape, ...marks });

/** The row: each report replaces the map `deployable`, and nothing beside it. */
export const storedDeployable = z.object({
  deployable: describedDeployable,
  ...marks,
  status: z.enum(deviceStatuses),
  program_note: programNote.exactOptional(),
});

/** An attribute that an operator has added. */
export const attribute = z.object({
  uuid: z.string(),
  deployable_uuid: z.string(),
  key: z.string(),
  value: z.string(),
  /** Whether it follows from the host's report; then it cannot be deleted. */
  is_reported: z.boolean(),
  created_at: z.string(),
});
