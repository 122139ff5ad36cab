// Host work that is stored; core/domain/host-work/host-work.ts has its kinds.

import * as z from 'zod';
import { id, optionalText } from './derive/fields.ts';
import type {
  BindId,
  DeviceUuid,
  HandleUuid,
  InstanceUuid,
  ProviderUuid,
  ReleaseId,
} from './vocabulary/ids.ts';

/** The instances that a job is for, and the boot of their host that it is for. */
export const jobNote = z.object({
  instances: z.array(z.string()),
  boot_id: z.string(),
  /** The host, if the job reprovisions it: then the row of the note starts the work. */
  booted_host: optionalText,
  /** The host was asked by a message. The sweep has the job created if no answer comes. */
  is_message: z.literal(true).exactOptional(),
  /** The binds that share the job, in the order of the instances; absent for other jobs. */
  bind_ids: z.array(id<BindId>()).exactOptional(),
  /**
   * DynamoDB deletes it: a shared job may never be created, and its end may not be reported.
   * Seconds since 1970.
   */
  expires_at: z.number().exactOptional(),
});

/** A bind whose job AWS has throttled. The next bind of its devices may share a job with it. */
export const waitingBind = z.object({
  instance_uuid: id<InstanceUuid>(),
  bind_id: id<BindId>(),
  /** The addresses of its devices. */
  addresses: z.array(z.string()),
  /** ISO 8601, as the time below. */
  started_at: z.string(),
  /** A shared job has it until then. After that it has a job of its own, and shares no other. */
  shared_until: optionalText,
});

/** An attach handle, as host work names it. */
export const handleRef = z.object({
  provider_uuid: id<ProviderUuid>(),
  handle_uuid: id<HandleUuid>(),
});

/**
 * Host work that attach handles wait for: no bind of a handle is prepared before its host has
 * confirmed the work.
 */
const handleWork = z.object({
  /** The handles refer to the work by this id. */
  id: id<ReleaseId>(),
  hostname: z.string(),
  handles: z.array(handleRef),
  started_at: z.string(),
  /** When the first release of the handles began, where this one replaces another; ISO 8601. */
  left_at: optionalText,
  request_id: optionalText,
  /** Why the handles are in quarantine: no confirmation came in time. It may still come. */
  quarantine: optionalText,
  /** When the host is asked again to clean up, while the handles are in quarantine; ISO 8601. */
  retry_at: optionalText,
  /** How often the host has been asked again. */
  retries: z.number().exactOptional(),
});

export const awaitedWork = {
  /**
   * The cleanup that a host still owes after an instance. It outlives the ARQs, which end at once
   * even if their host is down.
   */
  release: z.object({
    ...handleWork.shape,
    bind_id: id<BindId>().exactOptional(),
    /** The reprovision job of the instance, where that had not ended. */
    reprovision_job: optionalText,
    /** The bind continues: the instance keeps some of its ARQs. */
    is_part: z.literal(true).exactOptional(),
    /** How long the host may take for the handle that takes longest, if its driver says. */
    clean_seconds: z.number().exactOptional(),
  }),
  /**
   * A region, or a component of a device, that an operator has programmed; the handles of the
   * region, or of the device, cannot be claimed meanwhile.
   */
  program: z.object({
    ...handleWork.shape,
    image_id: z.string(),
    /** The region's, or the device's own. */
    provider_uuid: id<ProviderUuid>(),
    component: z
      .object({
        name: z.string(),
        /** What the component must show afterwards. */
        version: z.string(),
        device_uuid: id<DeviceUuid>(),
        /** The id of the note, also where a boot has replaced the work. */
        note_id: z.string(),
        /** The program keeps no handle yet: it waits until all of the device are free. */
        is_draining: z.literal(true).exactOptional(),
      })
      .exactOptional(),
  }),
} as const;

/** Attempts to clean handles in quarantine on all hosts of a failure domain. */
export const cleaningGroup = z.object({
  failure_domain: z.string(),
  /** Releases whose jobs run, and until when each has its place at most; ISO 8601. */
  running: z.array(z.object({ id: z.string(), hostname: z.string(), until: z.string() })),
  /** The last failures of hosts, one of each, the newest first. */
  failures: z.array(z.object({ hostname: z.string(), at: z.string(), reason: z.string() })),
  /** Grows with each write. */
  revision: z.number(),
});

/** An unused instance that waits for an operator, because too many were found at once. */
export const waitingInstance = z.object({
  instance_uuid: id<InstanceUuid>(),
  hostname: z.string(),
  project_id: z.string(),
  /** Since when it is unused; ISO 8601. */
  since: z.string(),
  /** Nova answers 404 for it; otherwise Nova has it on no host. */
  is_absent: z.boolean(),
  /** The page of deployables on which it was found: the deployable before it. */
  page: z.string(),
  found_at: z.string(),
});

export const reaperWaits = z.object({
  instances: z.array(waitingInstance),
  revision: z.number(),
});
