// What is used, by whom, what else fits, and the limits of projects.

import * as z from 'zod';
import { link, time, uuid } from '#core/contracts/api/shapes.ts';
import { shownStates } from '#core/domain/arq/arq.ts';
import { obstacles } from '#core/domain/capacity/capacity.ts';
import type { AnswerOf } from '#core/shapes/derive/derive.ts';
import type { quota } from '#core/shapes/quota.ts';
import { attachTypes, operatorStatuses } from '#core/shapes/vocabulary/words.ts';
import { hostname } from './hosts.ts';

const ofDevice = { description: 'null if the device was deleted just now' };

export const assignmentAnswer = z.strictObject({
  device_uuid: uuid.nullable().meta(ofDevice),
  device_address: z.string().nullable().meta(ofDevice),
  hostname: hostname.nullable(),
  type: z.string().nullable().meta(ofDevice),
  resource_class: z.string().nullable().meta(ofDevice),
  attach_handle_uuid: uuid.nullable(),
  attach_type: z.enum(attachTypes).nullable(),
  attach_info: z.record(z.string(), z.string()).nullable(),
  arq_uuid: uuid,
  arq_state: z.enum(shownStates),
  device_profile_name: z.string(),
  device_profile_revision: z
    .int()
    .nullable()
    .meta({ description: 'the revision of the profile from which the ARQ was made' }),
  instance_uuid: uuid.nullable(),
  project_id: z.string(),
  bound_since: time.nullable().meta({ description: 'when the ARQ got its state' }),
  device_status: z.enum(operatorStatuses).nullable().meta(ofDevice),
  device_health: z
    .string()
    .nullable()
    .meta({ description: 'why it is unhealthy; null if it is not' }),
  maintenance_until: time
    .nullable()
    .meta({ description: 'when a disabled device is to be in service again, if that was said' }),
});

const stoppedBy = z
  .array(z.strictObject({ reason: z.enum(obstacles), count: z.int() }))
  .meta({ description: 'attach handles that serve no further server, by reason' });

const capacitySum = { fits: z.int(), stopped_by: stoppedBy };

export const hostCapacityAnswer = z.strictObject({ hostname, ...capacitySum });

const aboutCapacity = {
  profile: z.string().nullable().meta({ description: 'null if the request has groups' }),
  measured_at: time.nullable().meta({
    description: 'hosts are as they were measured since then; null if the answer has read them',
  }),
};

export const capacityDetailAnswer = z.strictObject({
  ...aboutCapacity,
  total: z
    .strictObject({ ...capacitySum, hosts: z.int() })
    .nullable()
    .meta({ description: 'of all hosts, and on how many a server fits; on a first page' }),
  /** Keys of the groups that no device of the cloud has; on a first page. */
  missing: z.array(z.string()).optional(),
  fits: z.int().meta({ description: 'sum of the hosts of this page' }),
  stopped_by: stoppedBy,
  hosts: z.array(hostCapacityAnswer),
  hosts_links: z.array(link).optional(),
});

/** A tenant's answer. */
export const availabilityAnswer = z.strictObject({
  ...aboutCapacity,
  availability: z.enum(['none', 'few', 'many']),
});

export const capacityAnswer = z.union([capacityDetailAnswer, availabilityAnswer]);

const resourceClass = z.string().meta({ examples: ['FPGA', 'VGPU', 'CUSTOM_NIC'] });

export const quotaAnswer = z.strictObject({
  project_id: z.string(),
  limits: z
    .record(resourceClass, z.int().nullable())
    .meta({ description: 'by resource class; a class that is null or absent has no limit' }),
  in_use: z.record(resourceClass, z.int()).meta({ description: 'ARQs by resource class' }),
  updated_at: time.nullable().meta({ description: 'when the limits were last set' }),
} satisfies AnswerOf<
  typeof quota,
  'units_left' | 'recent' | 'revision' | 'counted_arqs' | 'counted_at'
>);
