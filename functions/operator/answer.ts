import * as z from 'zod';
import { deviceStatuses, deviceTypes } from '#core/domain/device.ts';
import { handleStates } from '#core/domain/handle-state.ts';
import { historyKinds } from '#core/domain/history.ts';
import { hostStates } from '#core/domain/host-state.ts';
import { collection, time, uuid } from '../http/answers.ts';

const hostname = z.string().meta({ examples: ['cmp1.example.org'] });

export const hostAnswer = z.strictObject({
  hostname,
  state: z.enum(hostStates),
  state_since: time.nullable(),
  agent_version: z.string().nullable(),
  boot_id: z.string().nullable(),
  last_report_at: time.nullable(),
  devices: z.int(),
  not_offered: z
    .int()
    .meta({ description: 'devices that its settings name and it does not offer' }),
  paused: z
    .strictObject({ failed_jobs: z.int(), last_at: time, reason: z.string(), until: time })
    .nullable()
    .meta({ description: 'until when no bind that needs a job is given to the host' }),
});

export const hostsAnswer = collection('hosts', hostAnswer);

const hostDevice = z.strictObject({
  uuid,
  address: z.string(),
  type: z.enum(deviceTypes),
  driver: z.string(),
  model: z.string(),
  status: z.enum(deviceStatuses),
  reason: z.string().nullable().meta({ description: 'why an operator set the status' }),
  health: z.string().nullable().meta({ description: 'why it is unhealthy; null if it is not' }),
  handles: z
    .partialRecord(z.enum(handleStates), z.int())
    .meta({ description: 'its attach handles by their state' }),
});

export const hostDetailAnswer = hostAnswer.extend({
  devices: z.array(hostDevice),
  not_offered: z.array(
    z.strictObject({ address: z.string(), driver: z.string(), reason: z.string() }),
  ),
  conflict: z
    .strictObject({
      since: time,
      boots: z.array(
        z.strictObject({
          boot_id: z.string(),
          booted_at: time.nullable(),
          last_report_at: time,
        }),
      ),
    })
    .nullable()
    .meta({ description: 'the boots that report as this host, while there are two agents' }),
});

const devices = z.array(uuid);

export const drainedAnswer = z.strictObject({
  hostname,
  devices: devices.meta({ description: 'in maintenance until the host resumes, or until its end' }),
  others: devices.meta({ description: 'in maintenance by changes of their own' }),
});

export const resumedAnswer = z.strictObject({
  hostname,
  devices: devices.meta({ description: 'enabled again' }),
});

export const rediscoverAnswer = z.strictObject({ hostname, job_id: z.string() });

const exactTime = z.iso
  .datetime({ precision: 3 })
  .meta({ description: 'ISO 8601, UTC, milliseconds', examples: ['2026-07-01T01:02:03.004Z'] });

export const recordAnswer = z.strictObject({
  id: uuid,
  at: exactTime,
  kind: z.enum(historyKinds),
  from: z.string().nullable(),
  to: z.string().nullable(),
  since: exactTime.nullable().meta({ description: 'since when it was as in `from`' }),
  hostname: hostname.nullable(),
  device_uuid: uuid.nullable(),
  resource_provider_uuid: uuid.nullable(),
  attach_handle_uuid: uuid.nullable(),
  resource_class: z.string().nullable(),
  arq_uuids: z.array(uuid),
  instance_uuid: uuid.nullable(),
  project_id: z.string().nullable(),
  device_profile_name: z.string().nullable(),
  by: z.string().nullable().meta({ description: '`user:<id>`, `agent`, `sweep` or `service`' }),
  request_id: z.string().nullable(),
  reason: z.string().nullable(),
  evidence: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .nullable()
    .meta({ description: 'what the host verified after it had cleaned the device' }),
});

export const historyAnswer = collection('history', recordAnswer);

export const usageAnswer = z.strictObject({
  from: exactTime,
  to: exactTime.meta({ description: 'not after now: what is in use is counted until now' }),
  usage: z.array(
    z.strictObject({
      project_id: z.string(),
      resource_class: z.string(),
      day: z.iso.date().meta({ description: 'in UTC' }),
      accelerator_seconds: z.number(),
    }),
  ),
});
