import * as z from 'zod';
import { shownStates } from '#core/domain/arq/arq.ts';
import { obstacles } from '#core/domain/capacity/capacity.ts';
import { handleStates } from '#core/domain/device/handle-state.ts';
import { incidentActions, incidentKinds } from '#core/domain/history/incidents.ts';
import { hostStates } from '#core/domain/host/host-state.ts';
import { sameLevels } from '#core/domain/pool/wholes.ts';
import { type AnswerOf, answered } from '#core/shapes/derive/derive.ts';
import { deviceFacts, operatorFacts } from '#core/shapes/device.ts';
import { hostFacts, notOffered } from '#core/shapes/host.ts';
import type { quota } from '#core/shapes/quota.ts';
import { attachTypes, operatorStatuses } from '#core/shapes/vocabulary/words.ts';
import { holdMarkAnswer, programGrantAnswer } from './devices.ts';
import { link, time, uuid } from './shapes.ts';

const hostname = z.string().meta({ examples: ['cmp1.example.org'] });

export const hostAnswer = z.strictObject({
  hostname,
  state: z.enum(hostStates),
  state_since: time.nullable(),
  ...answered(hostFacts.partial()),
  boot_id: z.string().nullable(),
  last_report_at: time.nullable(),
  failed_drivers: z
    .array(z.string())
    .meta({ description: 'drivers that failed at the last report; their devices are unchanged' }),
  clock_ahead_seconds: z.int().nullable().meta({
    description: "by how much the host's clock is ahead of the control plane's; negative if behind",
  }),
  devices: z.int(),
  not_offered: z.int().meta({
    description:
      'number of devices that the settings name and the host does not offer, or whose attach type its hypervisor does not take',
  }),
  drained: z
    .strictObject({ by: z.string(), since: time, reason: z.string(), until: time.nullable() })
    .nullable()
    .meta({ description: 'null unless an operator drained the host: it takes no new binds' }),
  paused: z
    .strictObject({ failed_jobs: z.int(), last_at: time, reason: z.string(), until: time })
    .nullable()
    .meta({
      description: 'null unless jobs failed in a row: the host gets no bind that needs a job',
    }),
});

const { type, model } = deviceFacts.shape;
const { address } = operatorFacts.shape;
const hostDeviceFacts = z.object({ address, type }).extend({ ...operatorFacts.shape, model });

export const hostDevice = z.strictObject({
  uuid,
  ...answered(hostDeviceFacts),
  status: z.enum(operatorStatuses),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'reason that the operator gave for the status' }),
  health: z.string().nullable().meta({ description: 'why it is unhealthy; null if it is not' }),
  handles: z
    .partialRecord(z.enum(handleStates), z.int())
    .meta({ description: 'its attach handles by their state' }),
  grants: z
    .array(programGrantAnswer)
    .meta({ description: 'projects that may program it, beside operators' }),
  holds: z.array(holdMarkAnswer).meta({ description: 'why it takes no new binds' }),
  identity: z
    .string()
    .nullable()
    .meta({ description: 'serial number, or the uuid that its vendor gave it' }),
});

export const hostDetailAnswer = hostAnswer.extend({
  devices: z.array(hostDevice),
  servers: z.int().meta({ description: 'servers that hold devices of the host' }),
  not_offered: z.array(z.strictObject(answered(notOffered))),
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

const place = z.string().nullable();

/** An attach handle, with its place in the host. */
export const hostUnit = z.strictObject({
  attach_handle_uuid: uuid,
  device_uuid: uuid,
  device_address: z.string(),
  type: z.string(),
  resource_class: z.string().nullable(),
  address: place.meta({ description: 'its PCI function; null for a handle without one' }),
  state: z.enum(handleStates),
  instance_uuid: uuid.nullable().meta({ description: 'the server that holds it' }),
  project_id: z.string().nullable(),
  numa: z.int().nullable().meta({ description: 'the NUMA node' }),
  root: place.meta({ description: 'the root port above it' }),
  switch: place.meta({ description: 'the upstream port of the PCIe switch above it' }),
  set: place.meta({ description: 'the units of a set are given together' }),
});

/** What a pool can give now. */
export const poolAnswer = z.strictObject({
  device_uuid: uuid,
  device_address: z.string(),
  units: z.int(),
  free: z.int(),
  together: z
    .record(z.enum(sameLevels), z.int())
    .meta({ description: 'the most units that one server can get from one such place' }),
});

export const topologyAnswer = z.strictObject({
  hostname,
  units: z.array(hostUnit),
  pools: z.array(poolAnswer),
});

export const settledAnswer = z.strictObject({
  hostname,
  boot_id: z.string().meta({ description: 'the boot whose next report ends the conflict' }),
});

const devices = z.array(uuid);

export const drainedAnswer = z.strictObject({
  hostname,
  devices: devices.meta({
    description: 'devices that the drain has disabled until the host resumes',
  }),
  others: devices.meta({ description: 'devices that were disabled before' }),
});

export const resumedAnswer = z.strictObject({
  hostname,
  devices: devices.meta({ description: 'devices that are enabled again' }),
});

export const rediscoverAnswer = z.strictObject({ hostname, job_id: z.string() });

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
