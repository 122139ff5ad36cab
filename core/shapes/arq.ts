// Accelerator requests (ARQs), and the bindings of instances.

import * as z from 'zod';
import { handleFacts } from './attach-handle.ts';
import { id, optionalText } from './derive/fields.ts';
import type { ArqUuid, BindId, HandleUuid, InstanceUuid, ProviderUuid } from './vocabulary/ids.ts';
import { arqStates, bindFailureCauses, bindingStates } from './vocabulary/words.ts';

export const arqFields = z.object({
  uuid: id<ArqUuid>(),
  state: z.enum(arqStates),
  /** Index of the group in the profile; Nova matches ARQs to resource providers by it. */
  group_id: z.number(),
  project_id: z.string(),
  /** The revision of the profile that it was made from. */
  profile_revision: z.number().exactOptional(),
  /**
   * The profile's amounts had just changed, so its server may be scheduled by the earlier ones: a
   * bind compares it with Placement's allocation.
   */
  checks_allocation: z.literal(true).exactOptional(),
  /** Why the last bind failed. */
  failure: optionalText,
  /** Who created it, as in a change note, and by which request. */
  created_by: optionalText,
  request_id: optionalText,
  /** ISO 8601. */
  created_at: z.string(),
  updated_at: optionalText,
});

/** Set by a bind, removed by an unbind. */
export const arqBinding = z.object({
  bind_id: id<BindId>(),
  instance_uuid: id<InstanceUuid>(),
  hostname: z.string(),
  provider_uuid: id<ProviderUuid>(),
});

/** A copy of the handle. A row has its fields under names that begin with `handle_`. */
export const attachment = z.object({ uuid: id<HandleUuid>(), ...handleFacts.shape });

export const instanceBinding = z.object({
  instance_uuid: id<InstanceUuid>(),
  /** Random for each bind, so that late events of an earlier bind are recognized. */
  bind_id: id<BindId>(),
  state: z.enum(bindingStates),
  hostname: z.string(),
  project_id: z.string(),
  arq_uuids: z.array(id<ArqUuid>()),
  /** The device profile of all of its ARQs; undefined where they are of several. */
  profile_name: optionalText,
  started_at: z.string(),
  /**
   * The job whose end resolves the binding; absent for a bind's own job, whose uuid is the bind
   * id.
   */
  job_uuid: optionalText,
  /** The host's boot for which its job ran; undefined if no job was needed. */
  boot_id: optionalText,
  /** The request that asked for it. */
  request_id: optionalText,
  failure: optionalText,
  failure_cause: z.enum(bindFailureCauses).exactOptional(),
  /**
   * A list of the ARQs has been answered before the bind ended, so nova-compute may wait for its
   * event. Undefined where no host makes the bind.
   */
  is_awaited: z.boolean().exactOptional(),
  /** When it was last bound or failed by a job or a deadline; ISO 8601. */
  resolved_at: optionalText,
  /** It was made by another service, and its server has used it since before the import. */
  is_imported: z.literal(true).exactOptional(),
  /** Since when Nova has no host for the instance, or no longer has the instance; ISO 8601. */
  unused_since: optionalText,
  /**
   * Providers that reserve its units in Placement, because nothing is allocated for it. Its server
   * was deleted, and `unused_since` was set with it; or its provider was deleted in Placement.
   */
  reserved_providers: z.array(id<ProviderUuid>()).exactOptional(),
  /** A provider was deleted in Placement with its allocation: the units stay reserved. */
  has_lost_allocation: z.literal(true).exactOptional(),
  /** A host may have had the deleted server: set and removed with `reserved_providers`. */
  was_built: z.literal(true).exactOptional(),
});
