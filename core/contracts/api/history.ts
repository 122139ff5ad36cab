import * as z from 'zod';
import type { AnswerOf } from '#core/shapes/derive/derive.ts';
import type { historyRecord } from '#core/shapes/history-record.ts';
import { historyKinds } from '#core/shapes/vocabulary/history-kinds.ts';
import { uuid } from './shapes.ts';

const exactTime = z.iso
  .datetime({ precision: 3 })
  .meta({ description: 'ISO 8601, UTC, milliseconds', examples: ['2026-07-01T01:02:03.004Z'] });

export const recordAnswer = z.strictObject({
  id: uuid,
  at: exactTime,
  kind: z.enum(historyKinds),
  from: z.string().nullable(),
  to: z.string().nullable(),
  since: exactTime.nullable().meta({ description: 'start of the state `from`' }),
  hostname: z.string().nullable(),
  device_uuid: uuid.nullable(),
  resource_provider_uuid: uuid.nullable(),
  attach_handle_uuid: uuid.nullable(),
  resource_class: z.string().nullable(),
  arq_uuids: z.array(uuid),
  instance_uuid: uuid.nullable(),
  project_id: z.string().nullable(),
  device_profile_name: z.string().nullable(),
  by: z
    .string()
    .nullable()
    .meta({ description: '`user:<id>`, `operator`, `agent`, `sweep` or `service`' }),
  request_id: z.string().nullable(),
  reason: z.string().nullable(),
  call: z
    .strictObject({
      rule: z.string().meta({ description: 'rule of the policy' }),
      method: z.string(),
      path: z.string(),
      status: z.int(),
      project_id: z.string().meta({ description: "project of the caller's token" }),
      roles: z.array(z.string()),
      given: z.string().nullable().meta({ description: 'JSON text: fields of the request body' }),
    })
    .nullable()
    .meta({ description: 'null unless the kind is `call.done`, `call.refused` or `call.failed`' }),
  evidence: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .nullable()
    .meta({ description: 'facts that the host verified after it cleaned the device' }),
} satisfies AnswerOf<
  typeof historyRecord,
  'provider_uuid' | 'handle_uuid' | 'arq_uuid' | 'profile_name'
>);

export const usageRow = z.strictObject({
  project_id: z.string(),
  resource_class: z.string(),
  day: z.iso.date().meta({ description: 'in UTC' }),
  accelerator_seconds: z.number(),
});

export const usageAnswer = z.strictObject({
  from: exactTime,
  to: exactTime.meta({ description: 'at most the current time, until which use is counted' }),
  usage: z.array(usageRow),
});

const hour = exactTime.meta({ description: 'start of the hour in UTC' });

export const bindsAnswer = z.strictObject({
  binds: z.array(z.strictObject({ hour, bound: z.int(), failed: z.int() })),
  next: exactTime
    .nullable()
    .meta({ description: 'the `to` that asks for the earlier hours, if any are left' }),
});

const mean = z.number().nullable().meta({ description: 'mean of the day; null for a project' });

export const reportRow = z.strictObject({
  day: z.iso.date().meta({ description: 'in UTC' }),
  model: z.string().meta({ description: 'vendor and product, such as 10de:20b5' }),
  project_id: z.string().nullable().meta({ description: 'null: all projects' }),
  devices: mean,
  healthy: mean,
  handles: mean,
  reserved: mean,
  in_use: z.number().meta({ description: 'attach handles that servers hold: mean of the day' }),
});

export const reportAnswer = z.strictObject({
  from: z.iso.date(),
  to: z.iso.date().meta({ description: 'the last day' }),
  report: z.array(reportRow),
});
