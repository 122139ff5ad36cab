// Hosts, their devices, and the actions on them.

import * as z from 'zod';
import { holdMarkAnswer, programGrantAnswer } from '#core/contracts/api/devices.ts';
import { time, uuid } from '#core/contracts/api/shapes.ts';
import { handleStates } from '#core/domain/device/handle-state.ts';
import { hostStates } from '#core/domain/host/host-state.ts';
import { sameLevels } from '#core/domain/pool/wholes.ts';
import { answered } from '#core/shapes/derive/derive.ts';
import { deviceFacts, operatorFacts } from '#core/shapes/device.ts';
import { hostFacts, notOffered } from '#core/shapes/host.ts';
import { operatorStatuses } from '#core/shapes/vocabulary/words.ts';

export const hostname = z.string().meta({ examples: ['cmp1.example.org'] });

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
