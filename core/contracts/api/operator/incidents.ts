// What needs attention, and what operators do about it: release, repair.

import * as z from 'zod';
import { time, uuid } from '#core/contracts/api/shapes.ts';
import { incidentActions, incidentKinds } from '#core/domain/history/incidents.ts';
import { hostname } from './hosts.ts';

export const incidentAnswer = z.strictObject({
  kind: z.enum(incidentKinds),
  since: time.nullable(),
  hostname,
  device_uuid: uuid.nullable(),
  arq_uuid: uuid.nullable(),
  instance_uuid: uuid.nullable(),
  project_id: z.string().nullable(),
  device_profile_name: z.string().nullable(),
  reason: z.string(),
  next_step: z.string(),
  runbook: z
    .string()
    .nullable()
    .meta({
      description: 'section of the documentation that has the steps',
      examples: ['docs/operations.md#handles-quarantined'],
    }),
  action: z.enum(incidentActions).nullable().meta({
    description: 'action on the host or device that ends the incident; null if none does',
  }),
  ended_at: time.nullable().meta({ description: 'null while it is open' }),
  ended_by: z.string().nullable().meta({
    description: '`user:<id>`, `operator`, `agent`, `sweep` or `service`; null if time ended it',
  }),
});

export const reapAnswer = z.strictObject({
  dry_run: z.boolean(),
  waiting: z
    .array(
      z.strictObject({
        instance_uuid: uuid,
        hostname,
        project_id: z.string(),
        since: time,
        nova: z
          .enum(['not-found', 'no-host'])
          .meta({ description: "Nova's answer: the server does not exist, or is on no host" }),
      }),
    )
    .meta({ description: 'instances that waited before this request, the longest unused first' }),
  released: z.array(uuid),
  kept: z
    .array(z.strictObject({ instance_uuid: uuid, reason: z.string() }))
    .meta({ description: 'instances that were checked again and may be in use' }),
  left: z
    .int()
    .meta({ description: 'instances that were not checked in time: repeat the request' }),
});

export const reconcileAnswer = z.strictObject({
  hostname,
  dry_run: z.boolean(),
  compared: z.int().meta({ description: 'providers that were compared' }),
  differing: z.array(
    z.strictObject({
      provider: z.string(),
      stored: z.string(),
      placement: z.string(),
      host: z.string(),
    }),
  ),
  repairing: z.array(uuid).meta({ description: 'devices that are written to Placement now' }),
  next: uuid.nullable().meta({ description: '`marker` of the request that compares the rest' }),
});
