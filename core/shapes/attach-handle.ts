// An attach handle, which gives a hypervisor one accelerator.

import * as z from 'zod';
import { changeNote, id, optionalText, pciAddress, verified } from './derive/fields.ts';
import type { ArqUuid, DeviceUuid, InstanceUuid, ReleaseId } from './vocabulary/ids.ts';
import { attachTypes, preparations } from './vocabulary/words.ts';

/** AWS IoT ends a job that is in progress for seven days. */
export const cleanSecondsMax = 5 * 24 * 3600;

/** `info` of an attach handle, as Nova gets it; Cyborg's `attach_handle_info`. */
export const handleInfo = z.record(z.string().max(64), z.string().max(255));

type HandleInfo = Readonly<z.infer<typeof handleInfo>>;

export const attachType = z.enum(attachTypes);
export type AttachType = z.infer<typeof attachType>;

/** What Nova attaches. */
export const attachedAs = z.object({ type: attachType, info: handleInfo });

/** The PCI function that the handle is; undefined where its `info` names none. */
export function pciFunction({ info }: { readonly info: HandleInfo }): string | undefined {
  const { domain, bus, device, function: fn } = info;
  if (!domain || !bus || !device || !fn) return undefined;
  return `${domain}:${bus}:${device.padStart(2, '0')}.${fn}`;
}

/**
 * The function that the handle is, or is made on. Handles for tests have addresses of no hardware.
 */
export function hardwareFunction(handle: z.infer<typeof attachedAs>): string | undefined {
  return handle.type === 'TEST_PCI' ? undefined : pciFunction(handle);
}

/** What the host does for the holders, as its driver declares it. */
export const handleCare = z.object({
  /**
   * `at-bind`: by a job for each bind. `ahead`: the agent has made it before any bind, and makes
   * it again after a boot. Absent where the hardware is ready as it is.
   */
  prepare: z.enum(preparations).optional(),
  /** The longest time that the host cleans it after a holder; absent where it does not. */
  clean_seconds: z.number().int().min(1).max(cleanSecondsMax).optional(),
});

/** An ARQ has a copy while it is bound. */
export const handleFacts = z.object({ ...attachedAs.shape, ...handleCare.shape });

/** Where the unit of a pool is in its host: units that share a part of it belong together. */
export const handleLocality = z.object({
  /** The NUMA node's number. */
  numa: z.int().min(0).max(1023).optional(),
  /** The root port above it. */
  root: pciAddress.optional(),
  /** The port of a PCIe switch that is nearest above it and has others below. */
  switch: pciAddress.optional(),
  /** All units of a set are claimed together, or none. */
  set: z
    .string()
    .regex(/^[a-zA-Z0-9_.:-]{1,64}$/)
    .optional(),
});

/** All that a report says of a handle and its row keeps. */
export const offeredHandle = z.object({
  ...handleFacts.shape,
  /** Present for each handle of a pool, from which a bind takes units that belong together. */
  locality: handleLocality.optional(),
});

/** The end of a cleaning, with facts by name that the driver has verified. */
export const cleaning = z.object({
  /** ISO 8601. */
  at: z.string(),
  evidence: verified,
});

/** What the control plane writes; no report changes it. */
export const handleState = z.object({
  /** What its host last verified after cleaning it. */
  last_cleaning: cleaning.exactOptional(),
  /** Why it is in quarantine: its release was not confirmed, or it was imported unclean. */
  quarantine: optionalText,
  /** Since when, ISO 8601; absent for an import. */
  quarantined_at: optionalText,
  /** The moment of the backup that it comes from, ISO 8601; its holder since is not known. */
  restored_at: optionalText,
  /** Who claimed, released, cleaned or withheld it last; absent for a new handle. */
  last_change: changeNote.exactOptional(),
});

export const storedHandle = z.object({
  pk: z.string(),
  sk: z.string(),
  ...offeredHandle.shape,
  /**
   * Grows with each release, program and restore; a claim holds only for the epoch that was read.
   */
  epoch: z.number(),
  ...handleState.shape,
  /** The host no longer reports it. It is deleted when its claim ends. */
  is_gone: z.literal(true).exactOptional(),
  /**
   * The release that its host has not confirmed: the previous holder's data may still be there.
   */
  release_id: id<ReleaseId>().exactOptional(),
});

/** Where a handle is, and Placement's class of its units: what its deployable says. */
export const handlePlace = z.object({
  hostname: z.string(),
  device_uuid: id<DeviceUuid>(),
  resource_class: optionalText,
});

/** What the history says of a claim. */
export const claimFacts = z.object({
  ...handlePlace.shape,
  project_id: z.string(),
  /** When it began; ISO 8601. */
  at: z.string(),
  profile_name: z.string(),
});

/** Part of a claimed handle's row. */
export const storedClaim = z.object({
  arq_uuid: id<ArqUuid>(),
  instance_uuid: id<InstanceUuid>(),
  claim_facts: claimFacts.exactOptional(),
  /** Placement reserves its unit, because nothing is allocated for the instance. */
  is_reserved: z.literal(true).exactOptional(),
});
